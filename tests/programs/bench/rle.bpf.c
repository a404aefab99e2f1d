/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Runs of equal bytes in 256, written as length and byte. */
#include "bench.h"

u8 bench_runs[512] __attribute__((visibility("hidden"))) = { 1 };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 to = load32(in) & 511, run = 0, sum = 0, last = 256;

	for (int i = 0; i < 256; i++) {
		u32 byte = in[i] & 3;

		if (byte == last) {
			run++;
			continue;
		}
		bench_runs[to] = run;
		bench_runs[(to + 1) & 511] = last;
		to = (to + 2) & 511;
		last = byte;
		run = 1;
	}
	for (int i = 0; i < 256; i += 2)
		sum = sum * 7 + bench_runs[i] * bench_runs[i + 1];
	return sum ^ to;
}

BENCH(rle);
