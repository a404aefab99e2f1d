/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Bits turned round, counted from either end, and the next number with as many of them. */
#include "bench.h"

INLINE u32 reversed(u32 x)
{
	x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
	x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
	x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
	x = (x >> 8 & 0x00ff00ff) | (x & 0x00ff00ff) << 8;
	return x >> 16 | x << 16;
}

INLINE u32 log2_of(u32 x)
{
	u32 log = 0;

	for (u32 by = 16; by; by >>= 1) {
		if (x >> by) {
			x >>= by;
			log += by;
		}
	}
	return log;
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = 0;

	for (int i = 0; i < 32; i++) {
		u32 x = load32(in + 4 * i) | 16;
		u32 low = x & -x, high = x + low, gray = x ^ x >> 1;
		u32 next = high | ((x ^ high) >> 2) >> (log2_of(low) & 31);
		u32 parity = gray ^ gray >> 16;

		parity ^= parity >> 8;
		parity ^= parity >> 4;
		parity = 0x6996 >> (parity & 15) & 1;
		sum += reversed(x) ^ next ^ log2_of(x) << 8 ^ parity;
	}
	return sum;
}

BENCH(bitrev);
