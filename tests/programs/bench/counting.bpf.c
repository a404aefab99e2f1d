/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Counting sort of 256 bytes by their low six bits. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u16 counts[64];
	u32 sum = 0, before = 0;

	for (int i = 0; i < 64; i++)
		counts[i] = 0;
	for (int i = 0; i < 256; i++)
		counts[in[i] & 63]++;
	for (int i = 0; i < 64; i++) {
		u32 count = counts[i];

		counts[i] = before;
		before += count;
	}
	for (int i = 0; i < 256; i++)
		sum += counts[in[i] & 63]++ * (i & 7);
	return sum;
}

BENCH(counting);
