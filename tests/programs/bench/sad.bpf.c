/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The least sum of absolute differences of 16 places of 32 bytes. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 best = ~0u;

	for (int place = 0; place < 16; place++) {
		u32 sum = 0;

		for (int i = 0; i < 32; i++) {
			s32 diff = (s32)in[i] - (s32)in[256 + place + i];

			sum += diff < 0 ? -diff : diff;
		}
		if (sum < best)
			best = sum;
	}
	return best;
}

BENCH(sad);
