/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A histogram of 256 latencies by powers of two with four steps each, and its sums. */
#include "bench.h"

u32 bench_counts[64] __attribute__((visibility("hidden"))) = { 1 };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = load32(in + 600), seen = 0;

	for (int i = 0; i < 64; i++)
		bench_counts[i] = 0;
	for (int i = 0; i < 256; i++) {
		u32 v = (in[i] << 5 ^ in[i + 7]) | 4, log = 0, rest = v;

		log = (rest > 0xff) << 3;
		rest >>= log;
		log += (rest > 0xf) << 2;
		rest >>= (rest > 0xf) << 2;
		log += (rest > 3) << 1;
		rest >>= (rest > 3) << 1;
		log += rest >> 1;
		bench_counts[(log * 4 + (v >> ((log - 2) & 31) & 3)) & 63]++;
	}
	for (int i = 0; i < 64; i++) {
		seen += bench_counts[i];
		sum = sum * 67 + seen;
	}
	return sum ^ seen;
}

BENCH(quantile);
