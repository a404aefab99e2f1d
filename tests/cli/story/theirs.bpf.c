/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Refused: global functions whose parameter has the name of a kernel's structure. Built with the
 * flags of tests/programs/build.sh. */
#include "../../programs/include/skep_bpf.h"

struct task_struct {
	u32 pid;
	u32 tgid[3];
};

/* Without a tag it is memory, or NULL, ... */
NOINLINE int pid_of(struct task_struct *task)
{
	return task->pid;
}

SEC("xdp")
int unchecked(void *ctx)
{
	struct task_struct task = {};

	return pid_of(&task);
}

/* ... and of the size that the program declares. */
NOINLINE int last_of(struct task_struct *task)
{
	return task ? *(u32 *)(task + 1) : 0;
}

SEC("xdp")
int beyond(void *ctx)
{
	struct task_struct task = {};

	return last_of(&task);
}
