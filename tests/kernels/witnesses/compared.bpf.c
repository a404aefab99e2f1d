// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A number that is compared with the address of the stack, and must be precise.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

__attribute__((naked, noinline, used)) static u64 compared_with_stack(void)
{
	asm volatile("call 7; r0 &= 7; if r0 <= r10 goto 1f; 1: exit" ::: "memory");
}

SEC("tc") __attribute__((naked)) int compared_in_callee(void)
{
	asm volatile("r1 = 0; *(u64 *)(r10 - 8) = r1; call compared_with_stack; r2 = r10; r2 += -8;"
		"r2 += r0; r0 = *(u8 *)(r2 + 0); r0 = 0; exit" ::: "memory");
}

SEC("tc") __attribute__((naked)) int compared_here(void)
{
	asm volatile("r1 = 0; *(u64 *)(r10 - 8) = r1; call 7; r0 &= 7; if r0 <= r10 goto 1f;"
		"1: r2 = r10; r2 += -8; r2 += r0; r0 = *(u8 *)(r2 + 0); r0 = 0; exit" ::: "memory");
}

// A jump to the next insn, whose outcome does not matter.
SEC("tc") __attribute__((naked)) int compared_twice(void)
{
	asm volatile("r1 = 0; *(u64 *)(r10 - 8) = r1; call 7; r6 = r0; r6 &= 7; r7 = r6; if r7 <= r10 goto 1f;"
		"1: if r6 <= r7 goto 2f; 2: r2 = r10; r2 += -8; r2 += r6; r0 = *(u8 *)(r2 + 0); r0 = 0; exit" ::: "memory");
}
