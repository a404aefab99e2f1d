// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What kernels know of a register that is compared with itself: each program reads address 0 where
// a kernel does not know that the jump is taken, or not taken.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

// A number equals itself.
SEC("socket") __attribute__((naked)) int same_equal(void)
{
	asm volatile("call 7;"
		     "if r0 == r0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int same_not_equal(void)
{
	asm volatile("call 7;"
		     "if r0 != r0 goto 2f;"
		     "goto 1f;"
		     "2:"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int same_at_least(void)
{
	asm volatile("call 7;"
		     "if r0 >= r0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int same_at_most(void)
{
	asm volatile("call 7;"
		     "if r0 <= r0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int same_above(void)
{
	asm volatile("call 7;"
		     "if r0 > r0 goto 2f;"
		     "goto 1f;"
		     "2:"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int same_below(void)
{
	asm volatile("call 7;"
		     "if r0 < r0 goto 2f;"
		     "goto 1f;"
		     "2:"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int same_signed_at_least(void)
{
	asm volatile("call 7;"
		     "if r0 s>= r0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int same_signed_at_most(void)
{
	asm volatile("call 7;"
		     "if r0 s<= r0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int same_signed_above(void)
{
	asm volatile("call 7;"
		     "if r0 s> r0 goto 2f;"
		     "goto 1f;"
		     "2:"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int same_signed_below(void)
{
	asm volatile("call 7;"
		     "if r0 s< r0 goto 2f;"
		     "goto 1f;"
		     "2:"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// Its low half.
SEC("socket") __attribute__((naked)) int same_half_equal(void)
{
	asm volatile("call 7;"
		     "if w0 == w0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int same_half_not_equal(void)
{
	asm volatile("call 7;"
		     "if w0 != w0 goto 2f;"
		     "goto 1f;"
		     "2:"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int same_half_signed_at_least(void)
{
	asm volatile("call 7;"
		     "if w0 s>= w0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int same_half_below(void)
{
	asm volatile("call 7;"
		     "if w0 < w0 goto 2f;"
		     "goto 1f;"
		     "2:"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// Bits that it has in common with itself, if it is not zero.
SEC("socket") __attribute__((naked)) int same_bits_of_one(void)
{
	asm volatile("call 7;"
		     "r0 |= 1;"
		     "if r0 & r0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int same_bits_of_range(void)
{
	asm volatile("call 7;"
		     "r0 &= 7;"
		     "r0 += 1;"
		     "if r0 & r0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int same_bits_of_negative(void)
{
	asm volatile("call 7;"
		     "r0 &= 7;"
		     "r0 += -9;"
		     "if r0 & r0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int same_bits_of_zero(void)
{
	asm volatile("call 7;"
		     "r0 = 0;"
		     "if r0 & r0 goto 2f;"
		     "goto 1f;"
		     "2:"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int same_bits_of_half(void)
{
	asm volatile("call 7;"
		     "r0 |= 1;"
		     "if w0 & w0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int same_bits_of_upper_half(void)
{
	asm volatile("call 7;"
		     "w0 = 0;"
		     "r0 <<= 32;"
		     "r1 = 1 ll;"
		     "r1 <<= 32;"
		     "r0 |= r1;"
		     "if w0 & w0 goto 2f;"
		     "goto 1f;"
		     "2:"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int same_bits_unknown(void)
{
	asm volatile("call 7;"
		     "if r0 & r0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// A pointer.
SEC("socket") __attribute__((naked)) int same_stack_pointer(void)
{
	asm volatile("call 7;"
		     "r1 = r10;"
		     "if r1 == r1 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int same_stack_pointer_not_equal(void)
{
	asm volatile("call 7;"
		     "r1 = r10;"
		     "if r1 != r1 goto 2f;"
		     "goto 1f;"
		     "2:"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int same_bits_of_half_range(void)
{
	asm volatile("call 7;"
		     "w0 &= 7;"
		     "w0 += 1;"
		     "if w0 & w0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int same_bits_of_half_negative(void)
{
	asm volatile("call 7;"
		     "w0 &= 7;"
		     "w0 += -9;"
		     "if w0 & w0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// One of two numbers is below itself: if that is not known to be impossible, it may be any number,
// or the larger one.
SEC("socket") __attribute__((naked)) int one_of_two_below_itself(void)
{
	asm volatile("call 7;"
		     "r0 &= 1;"
		     "r0 += 143;"
		     "if r0 < r0 goto 2f;"
		     "goto 1f;"
		     "2: r1 = r10;"
		     "r1 += -144;"
		     "r1 += r0;"
		     "r0 = 0;"
		     "*(u8 *)(r1 - 1) = r0;"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}
