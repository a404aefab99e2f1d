// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A global function that takes NULL is passed another number, on the path that is walked later.
#include "../../programs/include/skep_bpf.h"
#include "walked_first.h"

char LICENSE[] SEC("license") = "GPL";

struct task_struct {
	int pid;
} __attribute__((preserve_access_index));

__attribute__((noinline)) u64 of_number(u64 *number)
{
	asm volatile("");
	return number ? *number : 0;
}
SEC("socket") __attribute__((naked)) int number_for_no_memory(void)
{
	asm volatile(WALKED_FIRST(0, 5)
		     "r1 = r6;"
		     "call of_number;"
		     "r0 = 0;"
		     "exit" ::: "memory");
}

__attribute__((noinline)) int of_task(struct task_struct *task __attribute__((btf_decl_tag("arg:trusted"), btf_decl_tag("arg:nullable"))))
{
	asm volatile("");
	return task ? task->pid : 0;
}
SEC("tp_btf/task_newtask") __attribute__((naked)) int number_for_no_task(void)
{
	asm volatile(WALKED_FIRST(0, 5)
		     "r1 = r6;"
		     "call of_task;"
		     "r0 = 0;"
		     "exit" ::: "memory");
}

// An argument with two tags.
SEC("tp_btf/task_newtask") int two_tags(u64 *ctx)
{
	return of_task((void *)ctx[0]);
}
