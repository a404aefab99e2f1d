// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What jumps, spills and arithmetic leave known of numbers: each program reads address 0 where a
// kernel does not know that the branch is never taken.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define READ_NULL "r0 = 0; r0 = *(u64 *)(r0 + 0);"
#define PROGRAM(name, body) \
	SEC("socket") __attribute__((naked)) int name(void) \
	{ asm volatile(body READ_NULL "1: r0 = 0; exit" ::: "memory"); }

// Two registers of which one is always larger.
PROGRAM(two_ranges,
	"call 7; r6 = r0; r6 &= 7;"
	"call 7; r0 &= 7; r0 += 8;"
	"if r0 > r6 goto 1f;")

// A number that is larger than the constant with which it is compared.
PROGRAM(constant_below_range,
	"call 7; r0 &= 7; r0 += 3;"
	"if r0 != 2 goto 1f;")

// The same, with the constant in a register.
PROGRAM(register_below_range,
	"call 7; r0 &= 7; r0 += 3; r6 = 2;"
	"if r6 != r0 goto 1f;")

PROGRAM(not_the_edge,
	"call 7; r0 &= 7;"
	"if r0 == 7 goto 1f;"
	"if r0 <= 6 goto 1f;")

// A bounded number that is spilled; what a jump says of the register holds for the slot.
PROGRAM(spilled_then_compared,
	"call 7; r0 &= 255;"
	"*(u64 *)(r10 - 8) = r0;"
	"if r0 > 10 goto 1f;"
	"r1 = *(u64 *)(r10 - 8);"
	"if r1 <= 10 goto 1f;")

// One of which nothing is known, linked with its copy before it is spilled.
PROGRAM(unbounded_spilled,
	"call 7; r6 = r0;"
	"*(u64 *)(r10 - 8) = r6;"
	"if r0 > 10 goto 1f;"
	"r1 = *(u64 *)(r10 - 8);"
	"if r1 <= 10 goto 1f;")

PROGRAM(half_of_spilled,
	"call 7; r0 &= 15;"
	"*(u64 *)(r10 - 8) = r0;"
	"r1 = *(u32 *)(r10 - 8);"
	"if r1 <= 15 goto 1f;")

// A copy of four bytes in the stack.
PROGRAM(narrow_spilled,
	"call 7; r0 &= 255; r6 = r0;"
	"*(u32 *)(r10 - 8) = r6;"
	"if r0 > 10 goto 1f;"
	"r1 = *(u32 *)(r10 - 8);"
	"if r1 <= 10 goto 1f;")

PROGRAM(narrow_copy,
	"call 7; r0 &= 255;"
	"w1 = w0;"
	"if r1 > 10 goto 1f;"
	"if r0 <= 10 goto 1f;")

PROGRAM(cpu_below_limit,
	"call 8;"
	"if r0 <= 8192 goto 1f;")

// Signed from -10 to 20, unsigned from 5 to below the negative ones.
PROGRAM(positive_overlap,
	"call 7; r6 = r0; r1 = -100;"
	"if r6 > r1 goto 1f;"
	"if r6 < 5 goto 1f;"
	"if r6 s< -10 goto 1f;"
	"if r6 s> 20 goto 1f;"
	"if r6 s>= 5 goto 1f;")

PROGRAM(positive_overlap_of_half,
	"call 7; w6 = w0; w1 = -100;"
	"if w6 > w1 goto 1f;"
	"if w6 < 5 goto 1f;"
	"if w6 s< -10 goto 1f;"
	"if w6 s> 20 goto 1f;"
	"if w6 s>= 5 goto 1f;")

// A copy plus a constant.
PROGRAM(sum_of_copy,
	"call 7; r0 &= 255; r6 = r0;"
	"r6 += 4;"
	"if r6 s> 10 goto 1f;"
	"if r0 s<= 6 goto 1f;")

// A mask of all ones or none leaves all bits of a constant or none.
PROGRAM(sign_mask,
	"call 7; r0 <<= 32; r0 s>>= 63;"
	"r0 &= 0x1234;"
	"if r0 == 0 goto 1f;"
	"if r0 == 0x1234 goto 1f;")

PROGRAM(half_sign_mask,
	"call 7; w0 s>>= 31;"
	"w0 &= 0x1234;"
	"if w0 == 0 goto 1f;"
	"if w0 == 0x1234 goto 1f;")

// 1 is added to itself, and compared: its copy is 1, not 0.
PROGRAM(added_to_itself,
	"call 7; r7 = r0;"
	"call 7; r0 &= 1; r6 = r0;"
	"if r6 != 1 goto 1f;"
	"r6 += r6;"
	"if r7 > r6 goto 1f;"
	"if r0 == 0 goto 1f;")

#define PLAIN(name, body) \
	SEC("socket") __attribute__((naked)) int name(void) \
	{ asm volatile(body "r0 = 0; exit" ::: "memory"); }

PLAIN(stack_not_written, "r0 = *(u64 *)(r10 - 8);")

// The rest of a spilled number, of which a byte was overwritten at an offset that is not known.
PLAIN(rest_of_overwritten,
	"call 7; r6 = r0; r6 &= 3; call 7; r0 &= 255;"
	"*(u64 *)(r10 - 8) = r0;"
	"r1 = r10; r1 += -8; r1 += r6; w2 = 0;"
	"*(u8 *)(r1 + 0) = w2;"
	"r3 = *(u32 *)(r10 - 4);")
