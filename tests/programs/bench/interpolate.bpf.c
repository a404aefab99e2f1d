/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Interpolation search of 32 keys in 128 sorted numbers. */
#include "bench.h"

u32 bench_sorted[128] __attribute__((visibility("hidden"))) = { 1 };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 last = load32(in) & 255, found = 0, steps = 0;

	for (int i = 0; i < 128; i++) {
		last += (in[i] & 63) + 1;
		bench_sorted[i] = last;
	}
	for (int k = 0; k < 32; k++) {
		u32 low = 0, high = 127, key = load32(in + 8 * k) % last + 1;

		for (int n = 0; n < 8; n++) {
			u32 a = bench_sorted[low & 127], b = bench_sorted[high & 127], at, value;

			if (low > high || key < a || key > b || a == b)
				break;
			at = low + (u64)(key - a) * (high - low) / (b - a);
			value = bench_sorted[at & 127];
			steps++;
			if (value == key) {
				found = found * 3 + at;
				break;
			}
			if (value < key)
				low = at + 1;
			else
				high = at - 1;
		}
	}
	return found ^ steps << 24;
}

BENCH(interpolate);
