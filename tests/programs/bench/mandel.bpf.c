/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* 12 points of the Mandelbrot set, fixed point. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = 0;

	for (int i = 0; i < 12; i++) {
		s32 cx = (s32)(in[i] << 5) - 6144, cy = (s32)(in[32 + i] << 4) - 2048;
		s64 x = 0, y = 0;
		int n;

		for (n = 0; n < 24; n++) {
			s64 xx = x * x >> 12, yy = y * y >> 12;

			if (xx + yy > 4 << 12)
				break;
			y = (x * y >> 11) + cy;
			x = xx - yy + cx;
		}
		sum = sum * 5 + n;
	}
	return sum;
}

BENCH(mandel);
