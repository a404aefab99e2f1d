// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What a test of some bits of a number leaves of its bounds: each program reads address 0 where a
// kernel has forgotten what it knew, or does not deduce more.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define READ_NULL "r0 = 0; r0 = *(u64 *)(r0 + 0);"

// At least 52, and more than 32 bits of it are not known; or from -52 on.
#define HALF "call 7; w6 = w0; r6 += 52;"
#define WHOLE "call 7; r6 = r0;"
#define SIGNED "call 7; w6 = w0; r6 -= 52;"
#define NARROW "call 7; w6 = w0; if r6 < 52 goto 1f;"
#define NARROW_HALF "call 7; w6 = w0; if w6 < 52 goto 1f;"

#define PROGRAM(name, ...)                                                     \
	SEC("socket") __attribute__((naked)) int name(void)                    \
	{                                                                      \
		asm volatile(__VA_ARGS__ READ_NULL "1: r0 = 0; exit" ::: "memory"); \
	}

PROGRAM(half_not_set, HALF "if w6 & 7 goto 1f; if r6 >= 52 goto 1f;")
PROGRAM(half_not_set_more, HALF "if w6 & 7 goto 1f; if r6 >= 56 goto 1f;")
PROGRAM(half_not_set_register, HALF "r7 = 7; if w6 & w7 goto 1f; if r6 >= 52 goto 1f;")
PROGRAM(half_not_set_copy, HALF "r8 = r6; if w6 & 7 goto 1f; if r8 >= 52 goto 1f;")
PROGRAM(half_not_set_twice, HALF "if w6 & 7 goto 1f; if w6 & 8 goto 1f; if r6 >= 52 goto 1f;")
PROGRAM(half_not_set_sum, HALF "if w6 & 7 goto 1f; r6 += 8; if r6 >= 60 goto 1f;")
PROGRAM(half_not_set_below, HALF "if w6 & 7 goto 1f; if r6 > 1000 goto 1f; if r6 >= 52 goto 1f;")
PROGRAM(half_not_set_half_below,
	HALF "if w6 & 7 goto 1f; if w6 > 1000 goto 1f; if r6 >= 52 goto 1f;")
PROGRAM(half_not_negative, HALF "if w6 & 0x80000000 goto 1f; if r6 >= 52 goto 1f;")
PROGRAM(half_some_set, HALF "if w6 & 7 goto 2f; goto 1f; 2: if r6 >= 52 goto 1f;")
PROGRAM(half_one_set, HALF "if w6 & 4 goto 2f; goto 1f; 2: if r6 >= 52 goto 1f;")
PROGRAM(whole_not_set, WHOLE "w6 = w6; r6 += 52; if r6 & 7 goto 1f; if r6 >= 52 goto 1f;")
PROGRAM(whole_not_set_more, WHOLE "w6 = w6; r6 += 52; if r6 & 7 goto 1f; if r6 >= 56 goto 1f;")
PROGRAM(whole_one_set, HALF "if r6 & 4 goto 2f; goto 1f; 2: if r6 >= 52 goto 1f;")
PROGRAM(narrow_not_set, NARROW "if w6 & 7 goto 1f; if r6 >= 52 goto 1f;")
PROGRAM(narrow_not_set_more, NARROW "if w6 & 7 goto 1f; if r6 >= 56 goto 1f;")
PROGRAM(narrow_half_not_set, NARROW_HALF "if w6 & 7 goto 1f; if w6 >= 52 goto 1f;")
PROGRAM(narrow_half_not_set_more, NARROW_HALF "if w6 & 7 goto 1f; if w6 >= 56 goto 1f;")
PROGRAM(sign_not_set, WHOLE "if w6 & 0x80000000 goto 1f; if w6 s>= 0 goto 1f;")
PROGRAM(upper_not_set, WHOLE "if r6 & 0x80000000 goto 1f; if w6 s>= 0 goto 1f;")
PROGRAM(upper_set, WHOLE "if r6 & 0x80000000 goto 2f; goto 1f; 2: if w6 s< 0 goto 1f;")
PROGRAM(most_after_half,
	HALF "r7 = 0x100000040 ll; if r6 > r7 goto 1f; if w6 & 7 goto 1f;"
	"r7 = 0x100000040 ll; if r6 <= r7 goto 1f;")
PROGRAM(least_after_half,
	HALF "r7 = 0x100000040 ll; if r6 > r7 goto 1f; if w6 & 7 goto 1f; if r6 >= 52 goto 1f;")
PROGRAM(signed_not_set, SIGNED "if w6 & 7 goto 1f; if r6 s>= -52 goto 1f;")
PROGRAM(signed_not_set_more, SIGNED "if w6 & 7 goto 1f; if r6 s>= -48 goto 1f;")
PROGRAM(unbounded_half_not_set, WHOLE "if r6 < 52 goto 1f; if w6 & 7 goto 1f; if r6 >= 52 goto 1f;")
PROGRAM(unbounded_not_set, WHOLE "if r6 < 52 goto 1f; if r6 & 7 goto 1f; if r6 >= 52 goto 1f;")
