/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The longest common subsequence of 24 letters each. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u8 row[25];

	for (int j = 0; j < 25; j++)
		row[j] = 0;
	for (int i = 0; i < 24; i++) {
		u8 diagonal = 0, letter = in[i] & 7;

		for (int j = 0; j < 24; j++) {
			u8 above = row[j + 1], best;

			if (letter == (in[64 + j] & 7))
				best = diagonal + 1;
			else
				best = above > row[j] ? above : row[j];
			diagonal = above;
			row[j + 1] = best;
		}
	}
	return row[24];
}

BENCH(lcs);
