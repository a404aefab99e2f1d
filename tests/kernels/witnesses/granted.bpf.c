// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What kernels let some programs call, and how they compare what a loop has left on the stack.

#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

static u32 (*bpf_get_prandom_u32)(void) = (void *)7;
static long (*bpf_loop)(u32 rounds, void *callback, void *ctx, u64 flags) = (void *)181;

SEC("tp_btf/sys_enter") __attribute__((naked)) int counts_arguments(void)
{
	asm volatile("call 185;" /* bpf_get_func_arg_cnt */
		     "r0 = 0;"
		     "exit" ::: "memory");
}

SEC("tp_btf/sys_enter") __attribute__((naked)) int takes_argument(void)
{
	asm volatile("r2 = 1;"
		     "r3 = r10; r3 += -8;"
		     "call 183;" /* bpf_get_func_arg */
		     "r0 = 0;"
		     "exit" ::: "memory");
}

SEC("tp_btf/sys_enter") __attribute__((naked)) int takes_cookie(void)
{
	asm volatile("call 174;" /* bpf_get_attach_cookie */
		     "r0 = 0;"
		     "exit" ::: "memory");
}

struct flags {
	u64 unused;
	u32 first;
	u32 second;
};

static long raise(u32 round, struct flags *flags)
{
	if (!flags->first && bpf_get_prandom_u32() == 7)
		flags->first = 1;
	if (!flags->second && bpf_get_prandom_u32() == 7)
		flags->second = 1;
	return 0;
}

// In the first round the flags are zeros, then numbers or data.
SEC("tc")
int raises_flags(void *ctx)
{
	struct flags flags = {};

	bpf_loop(10, raise, &flags, 0);
	return 0;
}

#define FILL "r1 = 1; r2 = 2; r3 = 3; r4 = 4; r5 = 5;"

// The half of a slot that one path writes and the other does not.
SEC("tc") __attribute__((naked)) int half_never_written(void)
{
	asm volatile("call 7;" /* bpf_get_prandom_u32 */
		     "r6 = r0;"
		     "r7 = r0;"
		     "r7 &= 255;"
		     "*(u64 *)(r10 - 16) = r7;"
		     "if r6 == 1 goto 1f;" FILL
		     "*(u32 *)(r10 - 8) = r7;"
		     "if r6 == 2 goto 1f;" FILL
		     "if r6 == 3 goto 1f;" FILL
		     "1: r6 = 0; r7 = 0;"
		     "r3 = *(u32 *)(r10 - 8);" FILL
		     "r0 = 0;"
		     "exit" ::: "memory");
}

// Walked alone: what its paths leave on the stack is dead at the end.
__attribute__((noinline)) int leaves_on_stack(u64 *value)
{
	asm volatile("r6 = %[value];"
		     "call 7;" /* bpf_get_prandom_u32 */
		     "r7 = r0;"
		     "*(u64 *)(r10 - 8) = r7;"
		     "if r7 == 1 goto 1f;" FILL
		     "if r7 == 2 goto 1f;" FILL
		     "*(u64 *)(r10 - 8) = r6;"
		     "if r7 == 3 goto 1f;" FILL
		     "1: r6 = 0; r7 = 0;" FILL ::[value] "r"(value)
		     : "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "memory");
	return 0;
}

SEC("tc")
int passes_own_stack(void *ctx)
{
	u64 value = bpf_get_prandom_u32();

	return leaves_on_stack(&value);
}
