/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Stress shapes "hostile": what looks harmless and may be slow. A loop from an unknown number makes
 * a new value in every turn, which differs from the others in its 32-bit bounds only; one identity
 * in all slots is looked for at every jump, and compared at every checkpoint. Sums linked with such
 * a number are new in every turn, too; a store somewhere, and a helper's, touch all bytes of the
 * stack; turns of a loop that the verifier does not count come back to each other's states. Spilled
 * sums do it all at once: every turn stores and loads a slot for each, with values that are new. */
#include "include/skep_bpf.h"

#define SLOTS8(op, n)                                                                              \
	op(n + 8) op(n + 16) op(n + 24) op(n + 32) op(n + 40) op(n + 48) op(n + 56) op(n + 64)
#define SLOTS48(op)                                                                                \
	SLOTS8(op, 0) SLOTS8(op, 64) SLOTS8(op, 128) SLOTS8(op, 192) SLOTS8(op, 256) SLOTS8(op, 320)

#define SLOTS64(op) SLOTS48(op) SLOTS8(op, 384) SLOTS8(op, 448)

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

SEC("tc")
__attribute__((naked)) int linked_sums(void)
{
	asm volatile("call 7; r6 = r0;"
		     "1: r2 = r6; r3 = r2; r3 += 7; r4 = r2; r4 += 9; r5 = r2; r5 += 11; r8 = r2; r8 += 13;"
		     "r6 += 1; if r2 < 6000 goto 1b;"
		     "r0 = r3; r0 += r4; r0 += r5; r0 += r8; exit;");
}

#define KEEP(at) asm volatile("call 7; *(u64 *)(r10 - %[o]) = r0" ::[o] "i"(at));
#define USE(at) asm volatile("r1 = *(u64 *)(r10 - %[o]); r0 += r1" ::[o] "i"(at));

SEC("tc")
__attribute__((naked)) int many_ids(void)
{
	SLOTS48(KEEP)
	asm volatile("r8 = 0; 1: call 7;"
		     "if r0 == 5 goto +0; if r0 == 6 goto +0; if r0 == 7 goto +0; if r0 == 8 goto +0;"
		     "r8 += 1; if r8 < 300 goto 1b; r0 = 0;");
	SLOTS48(USE)
	asm volatile("exit");
}

#define CLEAR(at) asm volatile("*(u64 *)(r10 - %[o]) = r7" ::[o] "i"(at));

SEC("tc")
__attribute__((naked)) int some_byte(void)
{
	asm volatile("r7 = 0");
	SLOTS64(CLEAR)
	asm volatile("1: call 7; r0 &= 255; r1 = r10; r1 += -512; r1 += r0;"
		     "*(u8 *)(r1 + 255) = r0; *(u8 *)(r1 + 0) = r0;"
		     "r7 += 1; if r7 < 500 goto 1b; r0 = 0; exit;");
}

SEC("tc")
__attribute__((naked)) int all_bytes(void)
{
	asm volatile("r6 = r1; r7 = 0;"
		     "1: r1 = r6; r2 = 0; r3 = r10; r3 += -512; r4 = 512; call %[load];"
		     "r7 += 1; if r7 < 300 goto 1b; r0 = 0; exit;" ::[load] "i"(26));
}

static long turn(u32 i, u64 *seen)
{
#pragma clang loop unroll(full)
	for (int k = 0; k < 4; k++) {
		u32 random = get_prandom_u32();
		if (random > 5)
			seen[k] = 1;
		else if (random > 3)
			seen[k] = 0;
		asm volatile("" ::: "memory");
	}
	return 0;
}

SEC("tc")
int back_edges(struct __sk_buff *skb)
{
	u64 seen[4] = {};
	char text[16] = {};
	long sum = 0;

	loop(100, turn, seen, 0);
#pragma clang loop unroll(full)
	for (int k = 0; k < 4; k++)
		sum += text[seen[k] & 15];
	return sum & 1;
}

#define SLOTS16(op) SLOTS8(op, 0) SLOTS8(op, 64)
#define SUM(at) asm volatile("r1 = r6; r1 += %[o]; *(u64 *)(r10 - %[o]) = r1" ::[o] "i"(at));
#define SUM7(at) asm volatile("r1 = r7; r1 += %[o]; *(u64 *)(r10 - %[o]) = r1" ::[o] "i"(at));
#define SUM32(at) asm volatile("w1 = w6; w1 += %[o]; *(u64 *)(r10 - %[o]) = r1" ::[o] "i"(at));
#define PRODUCT(at)                                                                                \
	asm volatile("r1 = r6; r1 *= %[o]; r1 ^= r6; r1 >>= 3; *(u64 *)(r10 - %[o]) = r1" ::[o] "i"(at));

SEC("tc")
__attribute__((naked)) int spilled_sums(void)
{
	asm volatile("call 7; r6 = r0; r6 &= 65535; 1:");
	SLOTS16(SUM)
	asm volatile("r6 += 1; if r6 < 1000 goto 1b; r0 = 0;");
	SLOTS16(USE)
	asm volatile("exit");
}

SEC("tc")
__attribute__((naked)) int spilled_halves(void)
{
	asm volatile("call 7; w6 = w0; w6 &= 65535; w6 += -30000; 1:");
	SLOTS16(SUM32)
	asm volatile("w6 += 1; if w6 s< -29000 goto 1b; r0 = 0;");
	SLOTS16(USE)
	asm volatile("exit");
}

SEC("tc")
__attribute__((naked)) int two_counters(void)
{
	asm volatile("call 7; r6 = r0; r6 &= 65535; call 7; r7 = r0; r7 &= 65535; 1:");
	SLOTS8(SUM, 0)
	SLOTS8(SUM7, 64)
	asm volatile("r7 += 3; r6 += 1; if r6 > 1000 goto 2f; if r7 < 9000 goto 1b; 2: r0 = 0;");
	SLOTS16(USE)
	asm volatile("exit");
}

SEC("tc")
__attribute__((naked)) int wide_stack(void)
{
	asm volatile("call 7; r6 = r0; r6 &= 65535; 1:");
	SLOTS48(SUM)
	asm volatile("r6 += 1; if r6 < 300 goto 1b; r0 = 0;");
	SLOTS48(USE)
	asm volatile("exit");
}

SEC("tc")
__attribute__((naked)) int nested_sums(void)
{
	asm volatile("call 7; r6 = r0; r6 &= 65535; 1: r7 = 0; 2:");
	SLOTS8(SUM, 0)
	asm volatile("r7 += 1; if r7 < 4 goto 2b; r6 += 1; if r6 < 500 goto 1b; r0 = 0;");
	SLOTS8(USE, 0)
	asm volatile("exit");
}

SEC("tc")
__attribute__((naked)) int spilled_products(void)
{
	asm volatile("call 7; r6 = r0; r6 &= 65535; 1:");
	SLOTS8(PRODUCT, 0)
	asm volatile("r6 += 1; if r6 < 1000 goto 1b; r0 = 0;");
	SLOTS8(USE, 0)
	asm volatile("exit");
}

LICENSE_GPL;
