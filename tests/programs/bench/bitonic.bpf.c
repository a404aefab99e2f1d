/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A bitonic sort of 64 numbers. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 v[64], sum = 0;

	for (int i = 0; i < 64; i++)
		v[i] = load32(in + 4 * i);
	for (u32 size = 2; size <= 64; size *= 2) {
		for (u32 by = size / 2; by > 0; by /= 2) {
			for (u32 i = 0; i < 64; i++) {
				u32 other = i ^ by;

				if (other > i) {
					u32 a = v[i], b = v[other & 63];

					if ((a > b) == !(i & size)) {
						v[i] = b;
						v[other & 63] = a;
					}
				}
			}
		}
	}
	for (int i = 0; i < 64; i++)
		sum = sum * 3 + v[i];
	return sum;
}

BENCH(bitonic);
