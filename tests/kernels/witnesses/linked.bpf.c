// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What kernels know of a register that is a copy plus a constant: each program reads address 0 where
// a kernel does not know that the branch is never taken.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

// A sum of 64 bits.
SEC("socket") __attribute__((naked)) int sum(void)
{
	asm volatile("call 7;"
		     "r0 &= 255;"
		     "r6 = r0;"
		     "r6 += 4;"
		     "if r6 > 10 goto 1f;"
		     "if r0 <= 6 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// Of a negative constant.
SEC("socket") __attribute__((naked)) int negative_sum(void)
{
	asm volatile("call 7;"
		     "r0 &= 255;"
		     "r6 = r0;"
		     "r6 += -4;"
		     "if r6 s> 10 goto 1f;"
		     "if r0 s<= 14 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// A difference.
SEC("socket") __attribute__((naked)) int difference(void)
{
	asm volatile("call 7;"
		     "r0 &= 255;"
		     "r6 = r0;"
		     "r6 -= 4;"
		     "if r6 s> 10 goto 1f;"
		     "if r0 s<= 14 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int difference_of_negative(void)
{
	asm volatile("call 7;"
		     "r0 &= 255;"
		     "r6 = r0;"
		     "r6 -= -4;"
		     "if r6 > 10 goto 1f;"
		     "if r0 <= 6 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// The same of 32 bits.
SEC("socket") __attribute__((naked)) int narrow_sum(void)
{
	asm volatile("call 7;"
		     "w0 &= 255;"
		     "r6 = r0;"
		     "w6 += 4;"
		     "if w6 > 10 goto 1f;"
		     "if w0 <= 6 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int narrow_sum_known_wide(void)
{
	asm volatile("call 7;"
		     "w0 &= 255;"
		     "r6 = r0;"
		     "w6 += 4;"
		     "if r6 > 10 goto 1f;"
		     "if r0 <= 6 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int narrow_negative_sum(void)
{
	asm volatile("call 7;"
		     "w0 &= 255;"
		     "r6 = r0;"
		     "w6 += -4;"
		     "if w6 s> 10 goto 1f;"
		     "if w0 s<= 14 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int narrow_difference(void)
{
	asm volatile("call 7;"
		     "w0 &= 255;"
		     "r6 = r0;"
		     "w6 -= 4;"
		     "if w6 s> 10 goto 1f;"
		     "if w0 s<= 14 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// A constant in a register.
SEC("socket") __attribute__((naked)) int sum_of_register(void)
{
	asm volatile("call 7;"
		     "r0 &= 255;"
		     "r1 = 4;"
		     "r6 = r0;"
		     "r6 += r1;"
		     "if r6 > 10 goto 1f;"
		     "if r0 <= 6 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int sum_of_large_register(void)
{
	asm volatile("call 7;"
		     "r0 &= 255;"
		     "r1 = 0x80000000 ll;"
		     "r6 = r0;"
		     "r6 += r1;"
		     "r2 = 0x8000000a ll;"
		     "if r6 > r2 goto 1f;"
		     "if r0 <= 10 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// Where the paths meet, r9 is one more than r6, then one more than r7.
SEC("socket") __attribute__((naked)) int sums_of_others(void)
{
	asm volatile("call 7;"
		     "r6 = r0;"
		     "r6 &= 255;"
		     "call 7;"
		     "r7 = r0;"
		     "r7 &= 255;"
		     "call 7;"
		     "if r0 == 0 goto 1f;"
		     "r9 = r6;"
		     "r9 += 1;"
		     "r8 = 1; r8 = 2; r8 = 3; r8 = 4; r8 = 5; r8 = 6; r8 = 7; r8 = 8;"
		     "if r0 == 1 goto 2f;"
		     "goto 2f;"
		     "1: r9 = r7;"
		     "r9 += 1;"
		     "2: r0 = 0;"
		     "if r6 > 6 goto 3f;"
		     "r1 = r10;"
		     "r1 += -16;"
		     "r1 += r9;"
		     "*(u8 *)(r1 + 0) = r0;"
		     "3: r0 = 0;"
		     "exit" ::: "memory");
}
