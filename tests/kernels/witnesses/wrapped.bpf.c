// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What kernels know of numbers whose ranges wrap: each program reads address 0 where a kernel does
// not know that the branch is never taken.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define UNKNOWN "r0 = *(u64 *)(r1 + 0);"
#define READ_NULL "r0 = 0; r0 = *(u64 *)(r0 + 0);"

// The low half is a multiple of 16, above 16 and below 32.
SEC("raw_tp/sys_enter") __attribute__((naked)) int nothing_left(void *ctx)
{
	asm volatile(UNKNOWN "r2 = 0xffffffff0 ll;"
		     "r0 &= r2;"
		     "if w0 < 17 goto 1f;"
		     "if w0 > 31 goto 1f;" READ_NULL "1: r0 = 0;"
		     "exit" ::: "memory");
}

// As a signed number not above 0, as an unsigned one below 18.
SEC("raw_tp/sys_enter") __attribute__((naked)) int half_narrows(void *ctx)
{
	asm volatile(UNKNOWN "w0 = w0;"
		     "r0 = -r0;"
		     "if r0 > 17 goto 1f;"
		     "if r0 == 0 goto 1f;" READ_NULL "1: r0 = 0;"
		     "exit" ::: "memory");
}

// The half wraps, and comes back.
SEC("raw_tp/sys_enter") __attribute__((naked)) int range_wraps(void *ctx)
{
	asm volatile(UNKNOWN "if w0 s<= -706334563 goto 1f;"
		     "r0 += 5;"
		     "r0 -= 5;"
		     "if w0 s> -706334563 goto 1f;" READ_NULL "1: r0 = 0;"
		     "exit" ::: "memory");
}

// The same of the whole.
SEC("raw_tp/sys_enter") __attribute__((naked)) int whole_wraps(void *ctx)
{
	asm volatile(UNKNOWN "if r0 s<= -706334563 goto 1f;"
		     "r0 += 5;"
		     "r0 -= 5;"
		     "if r0 s> -706334563 goto 1f;" READ_NULL "1: r0 = 0;"
		     "exit" ::: "memory");
}

// By its bits a difference is below what it is compared with, but its range wraps.
SEC("raw_tp/sys_enter") __attribute__((naked)) int bits_of_difference(void *ctx)
{
	asm volatile(UNKNOWN "w0 <<= 24;"
		     "r0 -= -1627268824;"
		     "if w0 <= -7 goto 1f;" READ_NULL "1: r0 = 0;"
		     "exit" ::: "memory");
}

// One that is left out of all numbers is the range's end.
SEC("raw_tp/sys_enter") __attribute__((naked)) int one_left_out(void *ctx)
{
	asm volatile(UNKNOWN "if r0 == 77 goto 1f;"
		     "r0 -= 77;"
		     "if r0 != 0 goto 1f;" READ_NULL "1: r0 = 0;"
		     "exit" ::: "memory");
}

// States are alike only if the range of one holds that of the other.
SEC("raw_tp/sys_enter") __attribute__((naked)) int range_of_state(void *ctx)
{
	asm volatile("r3 = *(u64 *)(r1 + 8);" UNKNOWN "if w0 s<= -706334563 goto 3f;"
		     "w0 += 5;"
		     "if r3 == 0 goto 2f;"
		     "r0 = *(u64 *)(r1 + 16);" "w0 = w0;"
		     "2: w0 -= 5;"
		     "if w0 s> -706334563 goto 3f;" READ_NULL "3: r0 = 0;"
		     "exit" ::: "memory");
}

// What is loaded as `*(s32 *)(r10 - 8)`, an insn that this object's processor does not have, is not
// what was spilled: if it is negative, that is positive.
SEC("raw_tp/sys_enter") __attribute__((naked)) int filled_with_sign(void *ctx)
{
	asm volatile(UNKNOWN "w0 = w0;"
		     "*(u64 *)(r10 - 8) = r0;"
		     ".8byte 0xfff8a381;"
		     "if r3 s>= 0 goto 1f;"
		     "if r0 s<= 0 goto 1f;" READ_NULL "1: r0 = 0;"
		     "exit" ::: "memory");
}
