/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Sines and cosines of 12 angles by additions and shifts, with 29 bits behind the point. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	s32 angles[20];
	u32 sum = 0;

	for (int i = 0; i < 20; i++)
		angles[i] = i < 3 ? (s32)(421657428 - i * 80000000) >> i
				  : (s32)(536870912 >> i) - (i < 10 ? 178956970 >> 3 * i : 0);
	for (int k = 0; k < 12; k++) {
		s32 x = 326016435, y = 0;
		s32 z = (s32)load32(in + 4 * k) >> 2;

		for (int i = 0; i < 20; i++) {
			s32 dx = y >> i, dy = x >> i;

			if (z >= 0) {
				x -= dx;
				y += dy;
				z -= angles[i];
			} else {
				x += dx;
				y -= dy;
				z += angles[i];
			}
		}
		sum = sum * 31 + (x ^ y);
	}
	return sum;
}

BENCH(cordic);
