// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Ways to drop a number's link with a sum; whether the sum's constant stays and counts again in the
// next link.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

// The copy of its lower half.
SEC("tc") __attribute__((naked)) int half_of_sum(void)
{
	asm volatile("call 7; r8 = r0; r9 = r8; r8 += 5; w7 = w8; r6 = r7; r6 += 3; if r7 != 10 goto 1f;"
		"if r6 == 8 goto 1f; r0 = *(u64 *)(r0 + 0); 1: r0 = 0; exit" ::: "memory");
}

// More registers than a jump can link.
SEC("tc") __attribute__((naked)) int sum_after_six(void)
{
	asm volatile("call 7; r1 = r0; r2 = r0; r3 = r0; r4 = r0; r5 = r0; r6 = r0; r7 = r0; r7 += 5;"
		"if r0 > 1000 goto 1f; r8 = r7; r8 += 3; if r7 != 10 goto 1f;"
		"if r8 == 8 goto 1f; r0 = *(u64 *)(r0 + 0);"
		"1: r0 = r1; r0 += r2; r0 += r3; r0 += r4; r0 += r5; r0 += r6; r0 = 0; exit" ::: "memory");
}

// Another operation on it.
SEC("tc") __attribute__((naked)) int xored_sum(void)
{
	asm volatile("call 7; r6 = r0; r6 += 5; r6 ^= 0; r8 = r6; r8 += 3; r9 = r6; if r9 != 10 goto 1f;"
		"if r8 == 8 goto 1f; r0 = *(u64 *)(r0 + 0); 1: r0 = 0; exit" ::: "memory");
}

// A spill of its lower half.
SEC("tc") __attribute__((naked)) int spilled_half_of_sum(void)
{
	asm volatile("call 7; r8 = r0; r9 = r8; r8 += 5; *(u32 *)(r10 - 8) = r8; w7 = *(u32 *)(r10 - 8);"
		"r6 = r7; r6 += 3; if r7 != 10 goto 1f;"
		"if r6 == 8 goto 1f; r0 = *(u64 *)(r0 + 0); 1: r0 = 0; exit" ::: "memory");
}

// The sum as a constant of an operation with another number.
SEC("tc") __attribute__((naked)) int sum_of_numbers(void)
{
	asm volatile("call 7; r9 = r0; call 7; r8 = r0; r7 = r8; r8 += 5; r8 += r9; r6 = r8; r6 += 3;"
		"if r8 != 10 goto 1f; if r6 == 8 goto 1f; r0 = *(u64 *)(r0 + 0);"
		"1: r0 = r7; r0 = 0; exit" ::: "memory");
}

// Its lower half, sign-extended.
SEC("tc") __attribute__((naked)) int extended_sum(void)
{
	asm volatile("call 7; r8 = r0; r9 = r8; r8 += 5; .8byte 0x00000000000887bf;" // r7 = (s8)r8
		"r6 = r7; r6 += 3; if r7 != 10 goto 1f;"
		"if r6 == 8 goto 1f; r0 = *(u64 *)(r0 + 0); 1: r0 = 0; exit" ::: "memory");
}
