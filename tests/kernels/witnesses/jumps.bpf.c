// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A forward jump and one back across each other, both about as far as the short form of the native
// jump reaches.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* MOVES instructions of three bytes between the jump back and its target, HALVES of two bytes
 * between that and the target of the forward jump. */
#define ACROSS(NAME, MOVES, HALVES)                                                                \
	SEC("socket") __attribute__((naked)) int NAME(void *ctx)                                   \
	{                                                                                          \
		asm volatile("call 7;"                                                             \
			     "r6 = r0;"                                                            \
			     "call 7;"                                                             \
			     "r1 = 7;"                                                             \
			     "if r6 == 5 goto 2f;"                                                 \
			     "if r0 == 2 goto 3f;"                                                 \
			     "1: r1 += 1;"                                                         \
			     "goto 4f;"                                                            \
			     "2:"                                                                  \
			     ".rept " #MOVES ";"                                                   \
			     "r1 = r0;"                                                            \
			     ".endr;"                                                              \
			     "goto 1b;"                                                            \
			     "3: r1 = 3;"                                                          \
			     ".rept " #HALVES ";"                                                  \
			     "w3 = w0;"                                                            \
			     ".endr;"                                                              \
			     "4: r0 = 0;"                                                          \
			     "exit;" ::: "memory");                                                \
	}

ACROSS(jumps_across, 38, 2)
ACROSS(jumps_across_less, 37, 2)
ACROSS(jumps_across_more, 39, 2)
ACROSS(jumps_back_farther, 38, 0)
ACROSS(jumps_on_farther, 38, 3)
