/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Powers modulo a number of 31 bits, 8 of them. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = 0;

	for (int i = 0; i < 8; i++) {
		u64 base = load32(in + 12 * i), by = load32(in + 12 * i + 8) >> 1 | 1;
		u32 exponent = in[12 * i + 4] | in[12 * i + 5] << 8;
		u64 value = 1;

		base %= by;
		for (int bit = 0; bit < 16; bit++) {
			if (exponent >> bit & 1)
				value = value * base % by;
			base = base * base % by;
		}
		sum += value * (i + 1);
	}
	return sum;
}

BENCH(modpow);
