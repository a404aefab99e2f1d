/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Sorts 64 numbers of 16 bits by their digits of 4 bits. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u16 one[64], other[64], starts[16];
	u16 *from = one, *to = other;
	u32 sum = 0;

	for (int i = 0; i < 64; i++)
		from[i] = *(const u16 *)(in + 2 * i);
	for (int shift = 0; shift < 16; shift += 4) {
		u16 *swap = from, total = 0;

		for (int i = 0; i < 16; i++)
			starts[i] = 0;
		for (int i = 0; i < 64; i++)
			starts[from[i] >> shift & 15]++;
		for (int i = 0; i < 16; i++) {
			u16 count = starts[i];

			starts[i] = total;
			total += count;
		}
		for (int i = 0; i < 64; i++) {
			u16 value = from[i];

			to[starts[value >> shift & 15]++ & 63] = value;
		}
		from = to;
		to = swap;
	}
	for (int i = 0; i < 64; i++)
		sum = sum * 3 + from[i];
	return sum;
}

BENCH(radix);
