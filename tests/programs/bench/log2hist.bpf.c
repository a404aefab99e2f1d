/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Histograms of 256 latencies by powers of two, and the quantiles of the sum. */
#include "bench.h"

u32 bench_slots[4][32] __attribute__((visibility("hidden"))) = { { 1, 2 } };

INLINE u32 log2_32(u32 v)
{
	u32 r, shift;

	r = (v > 0xffff) << 4;
	v >>= r;
	shift = (v > 0xff) << 3;
	v >>= shift;
	r |= shift;
	shift = (v > 0xf) << 2;
	v >>= shift;
	r |= shift;
	shift = (v > 0x3) << 1;
	v >>= shift;
	r |= shift;
	return r | v >> 1;
}

INLINE u32 log2_64(u64 v)
{
	u32 high = v >> 32;

	return high ? log2_32(high) + 32 : log2_32(v);
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 total = 0, seen = 0, sum = 0;
	u64 start = 1000;

	for (int i = 0; i < 32; i++)
		for (int k = 0; k < 4; k++)
			bench_slots[k][i] = 0;
	for (int n = 0; n < 256; n++) {
		u64 delta = load64(in + n) >> (in[n + 300] & 63);
		u32 slot;

		start += delta;
		if (delta > 1ull << 48)
			delta /= 1000;
		slot = log2_64(delta);
		if (slot > 31)
			slot = 31;
		bench_slots[in[n + 512] & 3][slot]++;
		total++;
	}
	for (int i = 0; i < 32; i++) {
		u32 row = bench_slots[0][i] + bench_slots[1][i] + bench_slots[2][i] + bench_slots[3][i];

		if (seen < total / 2 && seen + row >= total / 2)
			sum = sum * 32 + i;
		if (seen < total * 9 / 10 && seen + row >= total * 9 / 10)
			sum = sum * 32 + i;
		seen += row;
	}
	return sum ^ seen << 16 ^ (u32)start;
}

BENCH(log2hist);
