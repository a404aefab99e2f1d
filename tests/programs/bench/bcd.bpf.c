/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* 32 numbers of 16 bits to decimal digits by doubling and adding 3. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = load32(in + 600);

	for (int i = 0; i < 32; i++) {
		u32 number = in[2 * i] << 8 | in[2 * i + 1], digits = 0;

		for (int bit = 15; bit >= 0; bit--) {
			u32 high = (digits + 0x33333) & 0x88888;

			digits += high - (high >> 2) - (high >> 3) * 3 / 3 * 2 - (high >> 3);
			digits += (high >> 3) * 3;
			digits = digits << 1 | (number >> bit & 1);
		}
		*(u32 *)(scratch + 4 * i) = digits;
		sum = sum * 33 ^ digits;
	}
	return sum;
}

BENCH(bcd);
