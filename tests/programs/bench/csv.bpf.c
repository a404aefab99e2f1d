/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Sums the columns of 512 bytes of numbers between commas. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sums[8], column = in[0] & 1, value = 0;

	for (int i = 0; i < 8; i++)
		sums[i] = 0;
	for (int i = 0; i < 512; i++) {
		u32 digit = in[i] - '0';

		if (digit < 10) {
			value = value * 10 + digit;
		} else {
			sums[column] += value;
			value = 0;
			column = (column + 1) & 7;
		}
	}
	return sums[0] ^ sums[1] * 3 ^ sums[2] * 5 ^ sums[3] * 7 ^ sums[4] * 11;
}

BENCH(csv);
