/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The program's own copy of a structure is passed for a task. */
#include "../../programs/kfuncs/kfuncs.h"

#define ARG_TRUSTED __attribute__((btf_decl_tag("arg:trusted")))

struct task_struct {
	int pid;
} __attribute__((preserve_access_index));

struct copy {
	int pid;
};

NOINLINE int is_init(struct task_struct *task ARG_TRUSTED)
{
	return task->pid == 1;
}

SEC("tp_btf/task_newtask")
int refused(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct copy copy = { task->pid };

	return is_init((void *)&copy);
}

SEC("tp_btf/task_newtask")
int mended(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];

	return is_init(task);
}

LICENSE_GPL;
