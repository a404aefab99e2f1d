/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Bits counted before 128 places of a bitmap, and places of bits by number. */
#include "bench.h"

u64 bench_bitmap[16] __attribute__((visibility("hidden"))) = { 1, 2 };
u32 bench_before[16] __attribute__((visibility("hidden"))) = { 1, 2 };

INLINE u32 ones(u64 v)
{
	v -= v >> 1 & 0x5555555555555555;
	v = (v & 0x3333333333333333) + (v >> 2 & 0x3333333333333333);
	v = (v + (v >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return v * 0x0101010101010101 >> 56;
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 all = 0, sum = 0;

	for (int i = 0; i < 16; i++) {
		bench_bitmap[i] = load64(in + 8 * i);
		bench_before[i] = all;
		all += ones(bench_bitmap[i]);
	}
	for (int n = 0; n < 64; n++) {
		u32 at = load32(in + 256 + 4 * n) & 1023;
		u64 below = bench_bitmap[at >> 6] & ((1ull << (at & 63)) - 1);

		sum = sum * 3 + bench_before[at >> 6] + ones(below);
	}
	for (int n = 0; n < 64; n++) {
		u32 wanted = in[n + 512] * 2, word = 0, by = 0;
		u64 left;

		for (u32 step = 8; step; step >>= 1)
			if (bench_before[(word + step) & 15] <= wanted)
				word = (word + step) & 15;
		left = bench_bitmap[word];
		for (u32 skip = (wanted - bench_before[word]) & 31; skip && left; skip--)
			left &= left - 1;
		while (by < 64 && !(left >> by & 1))
			by++;
		sum = sum * 5 + word * 64 + by;
	}
	return sum;
}

BENCH(rank);
