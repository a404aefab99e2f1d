/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Counts of 64 keys in four rows of counters, with decay, and the heaviest of them. */
#include "bench.h"

u32 bench_rows[4][64] __attribute__((visibility("hidden"))) = { { 1 } };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	static const u32 factors[4] = { 0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f };
	u32 heaviest = in[600], heavy_key = heaviest, sum = 0;

	for (int row = 0; row < 4; row++)
		for (int i = 0; i < 64; i++)
			bench_rows[row][i] = 0;
	for (int n = 0; n < 64; n++) {
		u32 key = load32(in + 4 * (n & 53)), bytes = in[n + 300] + 40, least = ~0u;

		for (int row = 0; row < 4; row++) {
			u32 slot = (key * factors[row]) >> 26;
			u32 count = bench_rows[row][slot] + bytes;

			bench_rows[row][slot] = count;
			least = count < least ? count : least;
		}
		if (least > heaviest) {
			heaviest = least;
			heavy_key = key;
		}
		if ((n & 31) == 31)
			for (int row = 0; row < 4; row++)
				for (int i = 0; i < 64; i++)
					bench_rows[row][i] -= bench_rows[row][i] >> 2;
		sum = sum * 3 + least;
	}
	return sum ^ heaviest << 16 ^ heavy_key;
}

BENCH(sketch);
