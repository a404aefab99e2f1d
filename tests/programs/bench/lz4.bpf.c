/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Unpacks tokens of literals and matches, as LZ4 has them, into a window of 512 bytes. */
#include "bench.h"

u8 bench_packed[512] __attribute__((visibility("hidden"))) = { 1 };
u8 bench_window[512] __attribute__((visibility("hidden"))) = { 2 };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 from = load32(in + 600), to = from, sum = 0;

	for (int i = 0; i < 512; i += 8) {
		*(u64 *)(bench_packed + i) = load64(in + i);
		*(u64 *)(bench_window + i) = i;
	}
	for (int round = 0; round < 20; round++) {
		u8 token = bench_packed[from & 511];
		u32 literals = token >> 6, match = (token & 15) + 4, distance;

		from++;
		if (literals == 3)
			literals += bench_packed[from++ & 511] & 7;
		for (u32 k = 0; k < literals; k++)
			bench_window[to++ & 511] = bench_packed[from++ & 511];
		distance = (bench_packed[from & 511] | bench_packed[(from + 1) & 511] << 8) & 63;
		from += 2;
		for (u32 k = 0; k < match; k++) {
			bench_window[to & 511] = bench_window[(to - distance - 1) & 511];
			to++;
		}
	}
	for (int i = 0; i < 512; i += 4)
		sum = sum * 5 + load32(bench_window + i);
	return sum ^ to;
}

BENCH(lz4);
