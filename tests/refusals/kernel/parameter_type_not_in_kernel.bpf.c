/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The kernel has no structure of this name. */
#include "../../programs/kfuncs/kfuncs.h"

#define ARG_TRUSTED __attribute__((btf_decl_tag("arg:trusted")))

struct task {
	int pid;
};

struct task_struct {
	int pid;
} __attribute__((preserve_access_index));

NOINLINE int is_first(struct task *task ARG_TRUSTED)
{
	return task != 0;
}

NOINLINE int is_init(struct task_struct *task ARG_TRUSTED)
{
	return task->pid == 1;
}

SEC("tp_btf/task_newtask")
int refused(u64 *ctx)
{
	return is_first((void *)ctx[0]);
}

SEC("tp_btf/task_newtask")
int mended(u64 *ctx)
{
	return is_init((void *)ctx[0]);
}

LICENSE_GPL;
