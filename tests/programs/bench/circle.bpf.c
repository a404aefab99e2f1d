/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* How many of 96 random points are in a circle. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 inside = 0;
	u64 x = load64(in) | 1;

	for (int i = 0; i < 96; i++) {
		u32 a, b;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		a = x & 0xffff;
		b = x >> 20 & 0xffff;
		if (a * a / 2 + b * b / 2 < 1u << 31)
			inside++;
	}
	return inside;
}

BENCH(circle);
