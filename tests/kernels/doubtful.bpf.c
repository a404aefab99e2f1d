/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What some kernels do with these programs depends on what is not modelled: an accepted one would
 * be refused by those, or the reverse. Built with the flags of the witnesses. */
#include "../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} records SEC(".maps");

/* 5.19: a copied constant has an id, which stays at the top of the stack under what is stored there
 * later. "more than one arg with ref_obj_id" */
SEC("tc") __attribute__((naked)) int two_slices(void)
{
	asm volatile(
	"r9 = 5; r6 = r9; *(u64 *)(r10 - 8) = r9; r1 = 0; *(u64 *)(r10 - 8) = r1;"
	"r1 = records ll; r2 = 16; r3 = 0; r4 = r10; r4 += -32; call 198;"
	"r1 = r10; r1 += -32; r2 = 0; r3 = 8; call 203; r7 = r0;"
	"r1 = r10; r1 += -32; r2 = 0; r3 = 8; call 203; r8 = r0;"
	"if r7 == 0 goto 1f; if r8 == 0 goto 1f;"
	"r1 = r7; r2 = 8; r3 = r8; r4 = 8; r5 = 0; call 28;"
	"1: r1 = r10; r1 += -32; r2 = 0; call 200; r0 = 0; exit");
}

/* 6.5 to 6.11: going back over a jump, seven linked registers are precise.
 * "invalid variable-offset write to stack R8" */
SEC("socket") __attribute__((naked)) int seventh(void)
{
	asm volatile(
	"call 7; r7 = r0; call 7; r8 = r0; r8 &= 7; call 7; r0 &= 255;"
	"if r7 > 100 goto 4f;"
	"r1 = r0; r2 = r0; r3 = r0; r4 = r0; r5 = r0; r6 = r0; goto 5f;"
	"4: r1 = r0; r2 = r0; r3 = r0; r4 = r0; r5 = r0; r6 = r8;"
	"5: if r6 > 7 goto 1f; r8 = r10; r8 += -8; r8 += r0; *(u8 *)(r8 + 0) = 0;"
	"1: r9 = r0; r9 = r1; r9 = r2; r9 = r3; r9 = r4; r9 = r5; r9 = r6; r0 = 0; exit");
}

/* 5.10 to 6.5, early builds: no bits of 3 to 6 are set, so the bounds contradict one another, and
 * stay: these accept it, since 6 is not above 15. Later kernels reset them, and refuse it. */
SEC("socket") __attribute__((naked)) int dead_branch(void)
{
	asm volatile(
	"call 7; r6 = r0; if r6 < 3 goto 1f; if r6 > 6 goto 1f; if r6 & 7 goto 1f;"
	"if r6 <= 15 goto 1f; r0 = 0; r0 = *(u64 *)(r0 + 0); 1: r0 = 0; exit");
}
