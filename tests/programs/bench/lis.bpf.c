/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The longest rising run of 64 numbers with gaps: each number is placed by a binary search. */
#include "bench.h"

u16 bench_tails[32] __attribute__((visibility("hidden"))) = { 1 };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u16 *tails = bench_tails;
	u32 length = in[0], sum = length;

	for (int i = 0; i < 32; i++)
		tails[i] = 0xffff;
	for (int i = 0; i < 64; i++) {
		u32 value = (in[i] << 2 | in[200 + i] >> 6) & 1023, low = 0;

		for (u32 step = 16; step; step >>= 1) {
			if (tails[(low + step - 1) & 31] < value)
				low += step;
		}
		if (tails[low & 31] == 0xffff)
			length++;
		tails[low & 31] = value;
		sum += low * i;
	}
	return length << 16 ^ sum ^ tails[0];
}

BENCH(lis);
