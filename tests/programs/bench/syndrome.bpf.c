/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Eight syndromes of a Reed-Solomon code over 128 bytes, with tables of logarithms. */
#include "bench.h"

u8 bench_powers[256] __attribute__((visibility("hidden"))) = { 1, 2 };
u8 bench_logs[256] __attribute__((visibility("hidden"))) = { 1, 2 };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 power = 1, sum = 0;

	for (u32 i = 0; i < 255; i++) {
		bench_powers[i] = power;
		bench_logs[power & 255] = i;
		power <<= 1;
		if (power & 0x100)
			power ^= 0x11d;
	}
	for (u32 root = 0; root < 8; root++) {
		u32 value = 0;

		for (int i = 0; i < 128; i++) {
			if (value) {
				u32 log = bench_logs[value & 255] + root;

				value = bench_powers[(log >= 255 ? log - 255 : log) & 255];
			}
			value ^= in[i];
		}
		sum = sum << 4 ^ value;
	}
	return sum;
}

BENCH(syndrome);
