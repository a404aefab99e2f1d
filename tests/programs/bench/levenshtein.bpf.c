/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The distance of two words of 20 letters. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u16 row[21];

	for (int j = 0; j <= 20; j++)
		row[j] = j;
	for (int i = 0; i < 20; i++) {
		u32 diagonal = row[0];

		row[0] = i + 1;
		for (int j = 0; j < 20; j++) {
			u32 cost = diagonal + ((in[i] & 3) != (in[64 + j] & 3));
			u32 above = row[j + 1] + 1, left = row[j] + 1;

			diagonal = row[j + 1];
			if (above < cost)
				cost = above;
			if (left < cost)
				cost = left;
			row[j + 1] = cost;
		}
	}
	return row[20];
}

BENCH(levenshtein);
