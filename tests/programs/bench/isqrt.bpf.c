/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Square roots of 24 numbers, by Newton's method. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = 0;

	for (int i = 0; i < 24; i++) {
		u32 x = load32(in + 4 * i) | 1, root = 1 << 14;

		for (int n = 0; n < 5; n++)
			root = (root + x / (root | 1)) >> 1;
		sum += root ^ x;
	}
	return sum;
}

BENCH(isqrt);
