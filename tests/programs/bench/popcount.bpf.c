/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Bits of 64 words, without an instruction for it. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = 0;

	for (int i = 0; i < 64; i++) {
		u64 x = load64(in + 8 * i);

		x -= x >> 1 & 0x5555555555555555;
		x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
		x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
		sum += x * 0x0101010101010101 >> 56;
	}
	return sum;
}

BENCH(popcount);
