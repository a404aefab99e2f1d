/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Processes of a group are gone through where that is not allowed. */
#include "../../programs/kfuncs/kfuncs.h"

struct bpf_iter_css_task {
	u64 opaque[1];
} __attribute__((aligned(8)));
struct bpf_iter_css {
	u64 opaque[3];
} __attribute__((aligned(8)));
struct task_struct {
	int pid;
} __attribute__((preserve_access_index));
struct cgroup_subsys_state {
	int id;
} __attribute__((preserve_access_index));
struct cgroup {
	struct cgroup_subsys_state self;
} __attribute__((preserve_access_index));

KSYM void bpf_rcu_read_lock(void);
KSYM void bpf_rcu_read_unlock(void);
KSYM int bpf_iter_css_task_new(struct bpf_iter_css_task *it, struct cgroup_subsys_state *css,
			       unsigned int flags);
KSYM struct task_struct *bpf_iter_css_task_next(struct bpf_iter_css_task *it);
KSYM void bpf_iter_css_task_destroy(struct bpf_iter_css_task *it);
KSYM int bpf_iter_css_new(struct bpf_iter_css *it, struct cgroup_subsys_state *start,
			  unsigned int flags);
KSYM struct cgroup_subsys_state *bpf_iter_css_next(struct bpf_iter_css *it);
KSYM void bpf_iter_css_destroy(struct bpf_iter_css *it);

u64 count;

SEC("tp_btf/cgroup_mkdir")
int refused(u64 *ctx)
{
	struct bpf_iter_css_task it;
	struct cgroup *group = (void *)ctx[0];

	bpf_iter_css_task_new(&it, &group->self, 2);
	while (bpf_iter_css_task_next(&it))
		count++;
	bpf_iter_css_task_destroy(&it);
	return 0;
}

SEC("tp_btf/cgroup_mkdir")
int mended(u64 *ctx)
{
	struct bpf_iter_css it;
	struct cgroup *group = (void *)ctx[0];

	bpf_rcu_read_lock();
	bpf_iter_css_new(&it, &group->self, 1);
	while (bpf_iter_css_next(&it))
		count++;
	bpf_iter_css_destroy(&it);
	bpf_rcu_read_unlock();
	return 0;
}

LICENSE_GPL;
