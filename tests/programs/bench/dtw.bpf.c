/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Dynamic time warping of two curves of 24 points. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 row[25];

	row[0] = 0;
	for (int j = 1; j <= 24; j++)
		row[j] = 1 << 20;
	for (int i = 0; i < 24; i++) {
		u32 corner = row[0];

		row[0] = 1 << 20;
		for (int j = 1; j <= 24; j++) {
			int distance = (int)in[i] - (int)in[99 + j];
			u32 least = corner;

			corner = row[j];
			if (row[j] < least)
				least = row[j];
			if (row[j - 1] < least)
				least = row[j - 1];
			row[j] = least + (distance < 0 ? -distance : distance);
		}
	}
	return row[24];
}

BENCH(dtw);
