/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Stress shapes "hostile": what looks harmless and may be slow. A loop from an unknown number makes
 * a new value in every turn, which differs from the others in its 32-bit bounds only; one identity
 * in all slots is looked for at every jump, and compared at every checkpoint. */
#include "include/skep_bpf.h"

#define SLOTS8(op, n)                                                                              \
	op(n + 8) op(n + 16) op(n + 24) op(n + 32) op(n + 40) op(n + 48) op(n + 56) op(n + 64)
#define SLOTS48(op)                                                                                \
	SLOTS8(op, 0) SLOTS8(op, 64) SLOTS8(op, 128) SLOTS8(op, 192) SLOTS8(op, 256) SLOTS8(op, 320)

SEC("tc")
__attribute__((naked)) int unknown_start(void)
{
	asm volatile("call 7; w6 = w0; w6 &= 65535; w6 += -30000;"
		     "1: w7 = w6; w6 += 1; if w7 s< 10000 goto 1b;"
		     "r0 = 0; exit;");
}

#define TEST(at) asm volatile("r1 = *(u64 *)(r10 - %[o]); if r1 > %[o] goto +0" ::[o] "i"(at));
#define COPY(at) asm volatile("*(u64 *)(r10 - %[o]) = r6" ::[o] "i"(at));

SEC("tc")
__attribute__((naked)) int one_id(void)
{
	asm volatile("call 7; r6 = r0; r6 &= 255; r7 = 0; 1:");
	SLOTS48(COPY)
	SLOTS48(TEST)
	asm volatile("r7 += 1; if r7 < 10 goto 1b; r0 = 0; exit;");
}

LICENSE_GPL;
