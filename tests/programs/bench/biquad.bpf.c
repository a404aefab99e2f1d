/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Two filters of second order in series, in fixed point, that saturate. */
#include "bench.h"

INLINE s64 saturated(s64 v)
{
	return v > 0x7fffff ? 0x7fffff : v < -0x800000 ? -0x800000 : v;
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	s64 x1 = 0, x2 = 0, y1 = 0, y2 = 0, z1 = 0, z2 = 0;
	u32 sum = 0;

	for (int i = 0; i < 256; i++) {
		s64 x = (s64)(s8)in[i] << 15, y, z;

		y = saturated((4867 * x + 9733 * x1 + 4867 * x2 + 21404 * y1 - 8483 * y2) >> 14);
		z = saturated((9012 * y - 18023 * y1 + 9012 * y2 + 17691 * z1 - 6011 * z2) >> 14);
		x2 = x1;
		x1 = x;
		y2 = y1;
		y1 = y;
		z2 = z1;
		z1 = z;
		sum = sum * 3 + (u32)z;
	}
	return sum;
}

BENCH(biquad);
