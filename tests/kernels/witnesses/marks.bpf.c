// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Which numbers are precise, shown by what is walked twice: a state is saved where two paths meet
// with different numbers.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define PROGRAM(section, name, body) \
	SEC(section) __attribute__((naked)) int name(void) { asm volatile(body ::: "memory"); }
// Enough jumps and insns that a state is saved where they end.
#define SAVED \
	"r9 = 0; if r9 != 0 goto 9f; r9 = 1; r9 = 2; r9 = 3; r9 = 4; if r9 == 0 goto 9f; r9 = 0; r9 = 0; 9:"
// A tail that is walked again where no saved state covers another.
#define TAIL "r3 = 1; r3 = 2; r3 = 3; r3 = 4; r3 = 5; r3 = 6; r3 = 7; r3 = 8;"

// One of two numbers is stored by a copy of r10.
PROGRAM("socket", stored_by_copy,
	"call 7;"
	"r6 = 1;"
	"if r0 == 0 goto 1f;"
	"r6 = 2;"
	"1:" SAVED TAIL
	"r1 = r10; r1 += -8;"
	"*(u64 *)(r1 + 0) = r6;"
	"r0 = 0;"
	"exit")

// One of two numbers is added to a zero that was loaded from the stack.
PROGRAM("socket", added_to_zero,
	"call 7;"
	"r6 = 1;"
	"if r0 == 0 goto 1f;"
	"r6 = 2;"
	"1:" SAVED TAIL
	"r3 = 0;"
	"*(u64 *)(r10 - 8) = r3;"
	"r7 = *(u64 *)(r10 - 8);"
	"r7 += r6;"
	"r0 = 0;"
	"exit")

// A loop of two rounds begins where a state was saved. The number used after it, which is beyond the
// stack on one of the paths to it, comes from its first round.
PROGRAM("socket", from_first_round,
	"call 7;"
	"r2 = 0;"
	"r6 = 0;"
	"r7 = 0;"
	"r8 = 4096;"
	"if r0 == 0 goto 1f;"
	"r8 = 8;"
	"1: r0 = 0;" SAVED
	"r6 = r7;"
	"r7 = r8;"
	"r2 += 1;"
	"if r2 != 2 goto 9b;"
	"r1 = r10; r1 += -32; r1 += r6;"
	"*(u8 *)(r1 + 0) = w0;"
	"r0 = 0;"
	"exit")

// The same, but the loop has two places to which a jump leads.
PROGRAM("socket", from_round_with_jump,
	"call 7;"
	"r2 = 0;"
	"r6 = 0;"
	"r7 = 0;"
	"r8 = 4096;"
	"if r0 == 0 goto 1f;"
	"r8 = 8;"
	"1: r0 = 0;" SAVED
	"r6 = r7;"
	"goto 3f; 3:"
	"r7 = r8;"
	"r2 += 1;"
	"if r2 != 2 goto 9b;"
	"r1 = r10; r1 += -32; r1 += r6;"
	"*(u8 *)(r1 + 0) = w0;"
	"r0 = 0;"
	"exit")
