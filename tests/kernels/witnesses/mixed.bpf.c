// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What one path leaves on the stack as a number, and another as data or not at all.

#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define FILL "r1 = 1; r2 = 2; r3 = 3; r4 = 4; r5 = 5;"
#define NUMBER "*(u64 *)(r10 - 8) = r7;"
#define UNKNOWN "*(u64 *)(r10 - 8) = r8;"
#define ZERO "r1 = 0; *(u64 *)(r10 - 8) = r1;"
#define FIVE "r1 = 5; *(u64 *)(r10 - 8) = r1;"
#define HALF "*(u32 *)(r10 - 8) = r7;"
#define DATA "*(u32 *)(r10 - 4) = r7; *(u32 *)(r10 - 8) = r7; *(u8 *)(r10 - 7) = r7;"
#define NOTHING ""

// The path that stores `first` is walked first.
#define MIXED(name, first, second)                                        \
	SEC("tc") __attribute__((naked)) int name(void)                   \
	{                                                                 \
		asm volatile("call 7;" /* bpf_get_prandom_u32 */          \
			     "r6 = r0;"                                   \
			     "r7 = r0;"                                   \
			     "r7 &= 255;"                                 \
			     "call 7;"                                    \
			     "r8 = r0;"                                   \
			     "*(u64 *)(r10 - 16) = r7;"                   \
			     "if r6 == 1 goto 2f;" FILL first             \
			     "if r6 == 2 goto 1f;" FILL                   \
			     "if r6 == 3 goto 1f;" FILL                   \
			     "goto 1f;"                                   \
			     "2: " second                                 \
			     "1: r6 = 0; r7 = 0; r8 = 0;"                 \
			     "r3 = *(u64 *)(r10 - 8);" FILL               \
			     "r0 = 0;"                                    \
			     "exit" ::: "memory");                        \
	}

MIXED(number_then_data, NUMBER, DATA)
MIXED(data_then_number, DATA, NUMBER)
MIXED(number_then_nothing, NUMBER, NOTHING)
MIXED(nothing_then_number, NOTHING, NUMBER)
MIXED(data_then_nothing, DATA, NOTHING)
MIXED(nothing_then_data, NOTHING, DATA)
MIXED(unknown_then_data, UNKNOWN, DATA)
MIXED(data_then_unknown, DATA, UNKNOWN)
MIXED(unknown_then_nothing, UNKNOWN, NOTHING)
MIXED(zero_then_data, ZERO, DATA)
MIXED(data_then_zero, DATA, ZERO)
MIXED(zero_then_number, ZERO, NUMBER)
MIXED(number_then_zero, NUMBER, ZERO)
MIXED(zero_then_nothing, ZERO, NOTHING)
MIXED(nothing_then_zero, NOTHING, ZERO)
MIXED(five_then_data, FIVE, DATA)
MIXED(data_then_five, DATA, FIVE)
MIXED(five_then_number, FIVE, NUMBER)
MIXED(number_then_five, NUMBER, FIVE)
MIXED(five_then_zero, FIVE, ZERO)
MIXED(half_then_number, HALF, NUMBER)
MIXED(number_then_half, NUMBER, HALF)
MIXED(half_then_data, HALF, DATA)
MIXED(data_then_half, DATA, HALF)
MIXED(half_then_zero, HALF, ZERO)
MIXED(half_then_nothing, HALF, NOTHING)

static char table[8] SEC(".data");

// One path bounds the index by a copy of it; the other has no copy.
SEC("tc") __attribute__((naked)) int copy_bounded(void)
{
	asm volatile("call 7;" /* bpf_get_prandom_u32 */
		     "r8 = r0;"
		     "call 7;"
		     "r6 = r0;"
		     "r7 = r0;"
		     "r0 = 0;"
		     "if r8 == 1 goto 2f;" FILL
		     "if r8 == 2 goto 1f;" FILL
		     "if r8 == 3 goto 1f;" FILL
		     "goto 1f;"
		     "2: r7 = 0;"
		     "1: r8 = 0;"
		     "if r7 > 5 goto 3f;"
		     "r1 = %[table] ll;"
		     "r1 += r6;"
		     "r0 = *(u8 *)(r1 + 0);"
		     "3: r0 = 0;"
		     "exit" ::[table] "i"(table) : "memory");
}
