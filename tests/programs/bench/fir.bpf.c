/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A filter of 8 coefficients over 64 samples of 16 bits. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	s32 taps[8];
	u32 sum = 0;

	for (int i = 0; i < 8; i++)
		taps[i] = (s8)in[512 + i];
	for (int i = 0; i < 64; i++) {
		s32 value = 0;

		for (int k = 0; k < 8; k++)
			value += taps[k] * *(const s16 *)(in + 2 * (i + k));
		sum += (value >> 7) ^ i;
	}
	return sum;
}

BENCH(fir);
