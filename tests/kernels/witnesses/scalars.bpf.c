// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What kernels deduce of numbers: each program reads address 0 where a kernel does not know that
// the branch is never taken.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

// Of the numbers that the known bits allow, the bounds leave one.
SEC("socket") __attribute__((naked)) int single_value(void)
{
	asm volatile("call 7;"
		     "r0 &= 16;"
		     "if r0 == 0 goto 1f;"
		     "if r0 == 16 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int single_value_of_half(void)
{
	asm volatile("call 7;"
		     "w0 &= 16;"
		     "if w0 == 0 goto 1f;"
		     "if w0 == 16 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// The bounds leave the largest that the bits allow.
SEC("socket") __attribute__((naked)) int largest_value(void)
{
	asm volatile("call 7;"
		     "r0 &= 12;"
		     "if r0 <= 8 goto 1f;"
		     "if r0 == 12 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// And one that is neither the smallest nor the largest.
SEC("socket") __attribute__((naked)) int middle_value(void)
{
	asm volatile("call 7;"
		     "r0 &= 12;"
		     "if r0 <= 4 goto 1f;"
		     "if r0 > 11 goto 1f;"
		     "if r0 == 8 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// What a negation leaves.
SEC("socket") __attribute__((naked)) int negation(void)
{
	asm volatile("call 7;"
		     "r0 &= 15;"
		     "r0 = -r0;"
		     "if r0 s<= 0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// What a change of the byte order leaves.
SEC("socket") __attribute__((naked)) int byte_order(void)
{
	asm volatile("call 7;"
		     "r0 &= 15;"
		     "r0 = be16 r0;"
		     "r0 &= 255;"
		     "if r0 == 0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// A 16-bit number that is cut to 16 bits.
SEC("socket") __attribute__((naked)) int byte_order_kept(void)
{
	asm volatile("call 7;"
		     "r0 = le16 r0;"
		     "if r0 <= 0xffff goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// Products.
SEC("socket") __attribute__((naked)) int product(void)
{
	asm volatile("call 7;"
		     "r0 &= 15;"
		     "r0 += -4;"
		     "r1 = -3;"
		     "r0 *= r1;"
		     "if r0 s<= 12 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// Sums whose bounds overflow together.
SEC("socket") __attribute__((naked)) int sum_past_the_end(void)
{
	asm volatile("call 7;"
		     "w0 = w0;"
		     "r1 = -1 ll;"
		     "r0 |= 1;"
		     "r0 += r1;"
		     "if r0 <= 0xfffffffe goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// What is left of a number of which some bits are tested.
SEC("socket") __attribute__((naked)) int tested_bits(void)
{
	asm volatile("call 7;"
		     "if r0 & 0xfff0 goto 1f;"
		     "r0 &= 0xffff;"
		     "if r0 <= 15 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// A sign that is extended, of bounded numbers.
SEC("socket") __attribute__((naked)) int extended_sign(void)
{
	asm volatile("call 7;"
		     "r0 &= 15;"
		     "r1 = (s8)r0;"
		     "if r1 s>= 0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// What two unknown numbers that are not equal exclude at the ends.
SEC("socket") __attribute__((naked)) int excluded_ends(void)
{
	asm volatile("call 7;"
		     "r0 &= 15;"
		     "if r0 == 0 goto 1f;"
		     "if r0 == 15 goto 1f;"
		     "r0 += -1;"
		     "if r0 <= 13 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// Two registers that are compared, both with bounds.
SEC("socket") __attribute__((naked)) int compared_bounds(void)
{
	asm volatile("call 7;"
		     "r6 = r0;"
		     "r6 &= 15;"
		     "call 7;"
		     "if r0 >= r6 goto 1f;"
		     "if r0 <= 14 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// Two registers that are equal, of which one has known bits.
SEC("socket") __attribute__((naked)) int equal_bits(void)
{
	asm volatile("call 7;"
		     "r6 = r0;"
		     "r6 &= 12;"
		     "call 7;"
		     "if r0 != r6 goto 1f;"
		     "r0 &= 3;"
		     "if r0 == 0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// Shifts right of what may be negative.
SEC("socket") __attribute__((naked)) int shifted_sign(void)
{
	asm volatile("call 7;"
		     "r0 &= 31;"
		     "r0 += -16;"
		     "r0 s>>= 2;"
		     "if r0 s>= -4 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// An or, an exclusive or of bounded numbers.
SEC("socket") __attribute__((naked)) int exclusive_or(void)
{
	asm volatile("call 7;"
		     "r6 = r0;"
		     "r6 &= 15;"
		     "call 7;"
		     "r0 &= 15;"
		     "r0 ^= r6;"
		     "if r0 s>= 0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// A sum of which both ends overflow.
SEC("socket") __attribute__((naked)) int overflowing_sum(void)
{
	asm volatile("call 7;"
		     "r6 = r0;"
		     "call 7;"
		     "r1 = 0x8000000000000000 ll;"
		     "r0 |= r1;"
		     "r6 |= r1;"
		     "r0 += r6;"
		     "if r0 != -1 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// A difference of which both ends do.
SEC("socket") __attribute__((naked)) int overflowing_difference(void)
{
	asm volatile("call 7;"
		     "r6 = r0;"
		     "call 7;"
		     "r1 = 0x8000000000000000 ll;"
		     "r6 |= r1;"
		     "r0 &= 7;"
		     "r0 -= r6;"
		     "if r0 != 0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// Numbers whose ranges overlap, and whose known bits say that they are not equal.
SEC("socket") __attribute__((naked)) int disjoint_bits(void)
{
	asm volatile("call 7;"
		     "r6 = r0;"
		     "call 7;"
		     "r0 &= 12;"
		     "r6 &= 2;"
		     "r6 |= 1;"
		     "if r0 != r6 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// A constant that the known bits exclude.
SEC("socket") __attribute__((naked)) int excluded_constant(void)
{
	asm volatile("call 7;"
		     "r0 &= 12;"
		     "if r0 != 5 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// A product of 32 bits of which one factor may be negative.
SEC("socket") __attribute__((naked)) int product_of_halves(void)
{
	asm volatile("call 7;"
		     "w0 &= 15;"
		     "w0 += -4;"
		     "w0 *= 3;"
		     "if w0 s<= 33 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// A remainder, a quotient.
SEC("socket") __attribute__((naked)) int remainder_of_constant(void)
{
	asm volatile("call 7;"
		     "r0 %%= 7;"
		     "if r0 <= 6 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// A shift to the left of what fits.
SEC("socket") __attribute__((naked)) int shifted_left(void)
{
	asm volatile("call 7;"
		     "r0 &= 15;"
		     "r0 += -8;"
		     "r0 <<= 2;"
		     "if r0 s<= 28 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// A number that is compared with itself plus a constant.
SEC("socket") __attribute__((naked)) int linked_sum(void)
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

// What is linked to a number that is even is odd, and so at least 1.
SEC("socket") __attribute__((naked)) int linked_bits(void)
{
	asm volatile("call 7;"
		     "r0 &= 255;"
		     "r6 = r0;"
		     "r6 += 1;"
		     "if r6 & 1 goto 1f;"
		     "if r0 > 0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}
