/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A task is passed where a group of tasks is expected. */
#include "../../programs/kfuncs/kfuncs.h"

struct cgroup {
	int level;
} __attribute__((preserve_access_index));
struct task_struct {
	int pid;
} __attribute__((preserve_access_index));

KSYM struct cgroup *bpf_cgroup_acquire(struct cgroup *cgrp);
KSYM void bpf_cgroup_release(struct cgroup *cgrp);

SEC("tp_btf/task_newtask")
int refused(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct cgroup *group = bpf_cgroup_acquire((void *)task);

	if (group)
		bpf_cgroup_release(group);
	return 0;
}

SEC("tp_btf/cgroup_mkdir")
int mended(u64 *ctx)
{
	struct cgroup *group = (void *)ctx[0];

	group = bpf_cgroup_acquire(group);
	if (group)
		bpf_cgroup_release(group);
	return 0;
}

LICENSE_GPL;
