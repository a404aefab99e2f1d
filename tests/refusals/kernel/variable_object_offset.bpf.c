/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Where in a task is read depends on a number. */
#include "../../programs/kfuncs/kfuncs.h"

struct task_struct {
	int pid;
	struct task_struct *last_wakee;
	char comm[16];
} __attribute__((preserve_access_index));

KSYM struct task_struct *bpf_task_acquire(struct task_struct *task);
KSYM void bpf_task_release(struct task_struct *task);
KSYM struct task_struct *bpf_task_from_pid(s32 pid);

u32 word;

SEC("tp_btf/task_newtask")
int refused(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];

	word = *(u32 *)((char *)task + (ctx[1] & 0x78));
	return 0;
}

SEC("tp_btf/task_newtask")
int mended(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];

	word = ctx[1] & 8 ? task->pid : task->comm[0];
	return 0;
}

LICENSE_GPL;
