/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* 128 numbers in Rice code: a count of ones, then three bits. */
#include "bench.h"

u8 bench_bits[256] __attribute__((visibility("hidden"))) = { 1, 2 };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u64 window = load64(in + 600);
	u32 held = in[700] & 31, at = load32(in + 704), sum = 0;

	for (int i = 0; i < 256; i++)
		bench_bits[i] = in[i];
	for (int n = 0; n < 128; n++) {
		u32 ones = 0, value;

		while (held < 24) {
			window = window << 8 | bench_bits[at++ & 255];
			held += 8;
		}
		while (ones < 16 && window >> ((held - 1 - ones) & 63) & 1)
			ones++;
		held = (held - ones - 4) & 31;
		value = ones << 3 | (window >> (held & 63) & 7);
		sum = sum * 11 + value;
	}
	return sum;
}

BENCH(rice);
