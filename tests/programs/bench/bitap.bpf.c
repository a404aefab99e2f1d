/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A word of 12 letters in 256 with up to two mistakes, by bits. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 masks[8], none = 0, one = 0, two = 0, sum = 0;

	for (int i = 0; i < 8; i++)
		masks[i] = 0;
	for (int i = 0; i < 12; i++)
		masks[in[96 + i] & 7] |= 1u << i;
	for (int i = 0; i < 256; i++) {
		u32 mask = masks[in[i] & 7], before = none, last = one;

		none = (none << 1 | 1) & mask;
		one = ((one << 1 | 1) & mask) | before << 1 | before | none << 1;
		two = ((two << 1 | 1) & mask) | last << 1 | last | one << 1;
		sum += (none >> 11 & 1) * 100 + (one >> 11 & 1) * 10 + (two >> 11 & 1);
	}
	return sum;
}

BENCH(bitap);
