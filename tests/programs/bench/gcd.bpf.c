/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Greatest common divisors of 16 pairs, by division. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = 0;

	for (int i = 0; i < 16; i++) {
		u32 a = load32(in + 8 * i), b = load32(in + 8 * i + 4);

		for (int step = 0; step < 48 && b; step++) {
			u32 rest = a % b;

			a = b;
			b = rest;
		}
		sum += a * (i + 1);
	}
	return sum;
}

BENCH(gcd);
