/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Comb sort of 32 numbers. */
#include "bench.h"

INLINE void pass(u32 *n, int gap)
{
	for (int i = 0; i + gap < 32; i++) {
		u32 a = n[i], b = n[i + gap];

		if (a > b) {
			n[i] = b;
			n[i + gap] = a;
		}
	}
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 *n = (u32 *)scratch;

	for (int i = 0; i < 32; i++)
		n[i] = load32(in + 4 * i);
	pass(n, 24);
	pass(n, 18);
	pass(n, 14);
	pass(n, 10);
	pass(n, 8);
	pass(n, 6);
	pass(n, 4);
	pass(n, 3);
	pass(n, 2);
	for (int i = 0; i < 4; i++)
		pass(n, 1);
	return n[0] ^ n[9] * 3 ^ n[18] * 5 ^ n[31];
}

BENCH(comb);
