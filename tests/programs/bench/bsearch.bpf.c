/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Binary searches in 64 sorted numbers. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 table[64], sum = 0, last = 0;

	for (int i = 0; i < 64; i++)
		table[i] = last += in[i] & 31;
	for (int i = 0; i < 48; i++) {
		u32 want = (in[64 + i] * 4) & 1023, low = 0;

		for (u32 step = 32; step; step >>= 1) {
			if (table[(low + step) & 63] <= want)
				low += step;
		}
		sum += low * (i + 1);
	}
	return sum;
}

BENCH(bsearch);
