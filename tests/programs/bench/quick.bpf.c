/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Quicksort of 64 numbers, with a stack of ranges; short ranges are sorted by insertion. */
#include "bench.h"

u32 bench_numbers[64] __attribute__((visibility("hidden"))) = { 1, 2 };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 *v = bench_numbers, low[16], high[16], bottom = load32(in + 600), depth = bottom + 1, sum = 0;

	for (int i = 0; i < 64; i++)
		v[i] = load32(in + 4 * i);
	low[bottom & 15] = 0;
	high[bottom & 15] = 63;
	for (int round = 0; round < 32 && depth != bottom; round++) {
		u32 first, last, pivot, store;

		depth--;
		first = low[depth & 15];
		last = high[depth & 15];
		if (last - first < 8) {
			for (u32 n = 1; n < 8; n++) {
				u32 k = first + n, x = v[k & 63];

				if (k > last)
					break;
				for (u32 i = 0; i < n; i++) {
					if (v[(k - 1) & 63] <= x)
						break;
					v[k & 63] = v[(k - 1) & 63];
					k--;
				}
				v[k & 63] = x;
			}
			continue;
		}
		pivot = v[last & 63];
		store = first;
		for (u32 n = 0; n < 64; n++) {
			u32 i = first + n, x = v[i & 63];

			if (i >= last)
				break;
			if (x < pivot) {
				v[i & 63] = v[store & 63];
				v[store & 63] = x;
				store++;
			}
		}
		v[last & 63] = v[store & 63];
		v[store & 63] = pivot;
		if (store > first + 1) {
			low[depth & 15] = first;
			high[depth & 15] = store - 1;
			depth++;
		}
		if (store + 1 < last) {
			low[depth & 15] = store + 1;
			high[depth & 15] = last;
			depth++;
		}
	}
	for (int i = 0; i < 64; i++)
		sum = sum * 5 + v[i];
	return sum;
}

BENCH(quick);
