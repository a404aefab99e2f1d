/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The function is not there for programs of this type. */
#include "../../programs/kfuncs/kfuncs.h"

struct task_struct {
	int pid;
	struct task_struct *last_wakee;
	char comm[16];
} __attribute__((preserve_access_index));

KSYM struct task_struct *bpf_task_acquire(struct task_struct *task);
KSYM void bpf_task_release(struct task_struct *task);
KSYM struct task_struct *bpf_task_from_pid(s32 pid);

SEC("socket")
int refused(void *ctx)
{
	struct task_struct *task = bpf_task_from_pid(1);

	if (task)
		bpf_task_release(task);
	return 0;
}

SEC("syscall")
int mended(void *ctx)
{
	struct task_struct *task = bpf_task_from_pid(1);

	if (task)
		bpf_task_release(task);
	return 0;
}

LICENSE_GPL;
