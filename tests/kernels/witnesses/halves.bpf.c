// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What a jump on one half of a number leaves of the other: each program reads address 0 where a
// kernel has forgotten what it knew.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define READ_NULL "r0 = 0; r0 = *(u64 *)(r0 + 0);"

// At least 52, and more than 32 bits of it are not known.
#define WIDE "call 7; w6 = w0; r6 += 52;"

SEC("socket") __attribute__((naked)) int wide_after_half(void)
{
	asm volatile(WIDE "if w6 s<= 3 goto 1f;"
		     "if r6 >= 52 goto 1f;" READ_NULL
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int wide_after_half_taken(void)
{
	asm volatile(WIDE "if w6 s> 3 goto 2f;"
		     "goto 1f;"
		     "2: if r6 >= 52 goto 1f;" READ_NULL
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int wide_after_half_not_equal(void)
{
	asm volatile(WIDE "if w6 == 7 goto 1f;"
		     "if r6 >= 52 goto 1f;" READ_NULL
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int wide_after_half_equal(void)
{
	asm volatile(WIDE "if w6 != 7 goto 1f;"
		     "if r6 >= 52 goto 1f;" READ_NULL
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int wide_after_half_bits(void)
{
	asm volatile(WIDE "if w6 & 7 goto 1f;"
		     "if r6 >= 52 goto 1f;" READ_NULL
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// The same of a number of 32 bits.
SEC("socket") __attribute__((naked)) int narrow_after_half(void)
{
	asm volatile("call 7; w6 = w0;"
		     "if r6 < 52 goto 1f;"
		     "if w6 s<= 3 goto 1f;"
		     "if r6 >= 52 goto 1f;" READ_NULL
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// The half after a jump on the whole.
SEC("socket") __attribute__((naked)) int half_after_wide(void)
{
	asm volatile("call 7; r6 = r0;"
		     "if w6 > 10 goto 1f;"
		     "r7 = 0x10000000000 ll;"
		     "if r6 > r7 goto 1f;"
		     "if w6 <= 10 goto 1f;" READ_NULL
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int half_after_wide_not_equal(void)
{
	asm volatile("call 7; r6 = r0;"
		     "if w6 > 10 goto 1f;"
		     "if r6 == 77 goto 1f;"
		     "if w6 <= 10 goto 1f;" READ_NULL
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// Only the register that is compared.
SEC("socket") __attribute__((naked)) int other_after_half(void)
{
	asm volatile(WIDE "call 7; w7 = w0; r7 += 52;"
		     "w8 = 7;"
		     "if w6 > w8 goto 1f;"
		     "if r7 >= 52 goto 1f;" READ_NULL
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// Two numbers that are not constant.
SEC("socket") __attribute__((naked)) int two_after_half(void)
{
	asm volatile(WIDE "call 7; w7 = w0; r7 += 52;"
		     "if w6 > w7 goto 1f;"
		     "if r7 >= 52 goto 1f;" READ_NULL
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}
