/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* 192 samples of 16 bits to eight, with a logarithmic scale. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = load32(in + 600);

	for (int i = 0; i < 192; i++) {
		int sample = (s16)(in[2 * i] | in[2 * i + 1] << 8);
		u32 sign = 0, exponent = 7, mask = 0x4000;

		if (sample < 0) {
			sample = -sample;
			sign = 0x80;
		}
		if (sample > 32635)
			sample = 32635;
		sample += 132;
		while (exponent && !(sample & mask)) {
			exponent--;
			mask >>= 1;
		}
		sum = sum * 5 + ((sign | exponent << 4 | (sample >> (exponent + 3) & 15)) ^ 0xff);
	}
	return sum;
}

BENCH(mulaw);
