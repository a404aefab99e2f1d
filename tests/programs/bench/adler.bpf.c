/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Adler-32 of 512 bytes, byte by byte. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 a = 1, b = 0;

	for (int i = 0; i < 512; i++) {
		a += in[i];
		b += a;
		if ((i & 63) == 63) {
			a %= 65521;
			b %= 65521;
		}
	}
	return b << 16 | a;
}

BENCH(adler);
