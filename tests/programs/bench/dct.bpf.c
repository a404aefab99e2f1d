/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A transform of 8 rows of 8 numbers, fixed point, both ways. */
#include "bench.h"

INLINE void row8(s32 *x, int by)
{
	s32 a = x[0] + x[7 * by], b = x[by] + x[6 * by], c = x[2 * by] + x[5 * by];
	s32 d = x[3 * by] + x[4 * by], e = x[3 * by] - x[4 * by], f = x[2 * by] - x[5 * by];
	s32 g = x[by] - x[6 * by], h = x[0] - x[7 * by];

	x[0] = a + b + c + d;
	x[4 * by] = a - b - c + d;
	x[2 * by] = ((a - d) * 473 + (b - c) * 196) >> 9;
	x[6 * by] = ((a - d) * 196 - (b - c) * 473) >> 9;
	x[by] = (h * 502 + g * 426 + f * 284 + e * 100) >> 9;
	x[3 * by] = (h * 426 - g * 100 - f * 502 - e * 284) >> 9;
	x[5 * by] = (h * 284 - g * 502 + f * 100 + e * 426) >> 9;
	x[7 * by] = (h * 100 - g * 284 + f * 426 - e * 502) >> 9;
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	s32 block[64];
	u32 sum = 0;

	for (int i = 0; i < 64; i++)
		block[i] = (s32)in[i] - 128;
	for (int i = 0; i < 8; i++)
		row8(block + 8 * i, 1);
	for (int i = 0; i < 8; i++)
		row8(block + i, 8);
	for (int i = 0; i < 64; i++)
		sum = sum * 3 + block[i];
	return sum;
}

BENCH(dct);
