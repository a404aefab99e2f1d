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
