// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Slices of dynptrs while something else is, or was, at the top of the stack: on 5.19 they belong to
// the record whose id it has left there. Asked of 5.19 only.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} records SEC(".maps");

u64 room[8];

#define PROGRAM(name, over)                                                                       \
	SEC("tc") __attribute__((naked)) int name(void)                                           \
	{                                                                                         \
		asm volatile("r1 = %[records] ll; r2 = 8; r3 = 0; call 131; r7 = r0;"             \
			     "*(u64 *)(r10 - 8) = r7;" over                                       \
			     "r1 = %[room] ll; r2 = 64; r3 = 0; r4 = r10; r4 += -32; call 197;"   \
			     "r1 = r10; r1 += -32; r2 = 0; r3 = 8; call 203; r6 = r0;"            \
			     "if r7 == 0 goto 2f; r1 = r7; r2 = 0; call 132;"                     \
			     "2: if r6 == 0 goto 1f; *(u8 *)(r6 + 0) = 1; 1: r0 = 0; exit"        \
			     :: [records] "i"(&records), [room] "i"(room) : "memory");            \
	}

PROGRAM(record_at_top, "")
PROGRAM(record_was_at_top, "*(u64 *)(r10 - 8) = 9;")
