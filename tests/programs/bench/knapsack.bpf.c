/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A knapsack of 64 units, 12 things. */
#include "bench.h"

u32 bench_best[65] __attribute__((visibility("hidden"))) = { 1 };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 *best = bench_best;

	for (int i = 0; i <= 64; i++)
		best[i] = 0;
	for (int thing = 0; thing < 12; thing++) {
		u32 weight = (in[thing] & 15) + 1, value = in[64 + thing];

		for (int room = 64; room >= 16; room--) {
			u32 with = best[(room - weight) & 63] + value;

			if (with > best[room])
				best[room] = with;
		}
	}
	return best[64] ^ best[32];
}

BENCH(knapsack);
