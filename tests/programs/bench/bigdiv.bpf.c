/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A number of 512 bits by one of 32, in limbs. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u64 by = load32(in + 128) | 1, rest = 0;
	u32 sum = 0;

	for (int i = 0; i < 16; i++) {
		u64 part = rest << 32 | load32(in + 4 * i);

		sum = sum * 3 + (u32)(part / by);
		rest = part % by;
	}
	return sum ^ rest;
}

BENCH(bigdiv);
