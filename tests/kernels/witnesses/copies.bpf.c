// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A value in more registers than a jump remembers as linked (six), most of which nothing reads any
// more: reads address 0 where a kernel counts those, too, and so does not know that the branch is
// never taken.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

SEC("socket") __attribute__((naked)) int dead_copies_are_linked(void)
{
	asm volatile("call 7;"
		     "r1 = r0;"
		     "r2 = r0;"
		     "r3 = r0;"
		     "r4 = r0;"
		     "r5 = r0;"
		     "r6 = r0;"
		     "r7 = r0;"
		     "if r6 > 7 goto 1f;"
		     "if r7 <= 7 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// First two values that nothing relates, then one in both registers: walked once more where the
// first does not cover the second.
SEC("socket") __attribute__((naked)) int two_values_then_one(void)
{
	asm volatile("call 7;"
		     "r6 = r0;"
		     "r6 &= 15;"
		     "call 7;"
		     "r7 = r0;"
		     "r7 &= 15;"
		     "call 7;"
		     "if r0 == 0 goto 1f;"
		     "r0 = 1;"
		     "r0 += 1;"
		     "r0 += 1;"
		     "r0 += 1;"
		     "r0 += 1;"
		     "r0 += 1;"
		     "r0 += 1;"
		     "r0 += 1;"
		     "goto 2f;"
		     "1: r7 = r6;"
		     "goto 2f;"
		     "2: if r6 > 15 goto 3f;"
		     "if r7 > 15 goto 3f;"
		     "r0 = 0;"
		     "3: exit" ::: "memory");
}
