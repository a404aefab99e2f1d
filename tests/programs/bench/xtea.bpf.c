/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* XTEA of 32 bytes, 16 cycles. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 key[4], sum = 0;

	for (int i = 0; i < 4; i++)
		key[i] = load32(in + 64 + 4 * i);
	for (int block = 0; block < 4; block++) {
		u32 a = load32(in + 8 * block), b = load32(in + 8 * block + 4), t = 0;

		for (int i = 0; i < 16; i++) {
			a += ((b << 4 ^ b >> 5) + b) ^ (t + key[t & 3]);
			t += 0x9e3779b9;
			b += ((a << 4 ^ a >> 5) + a) ^ (t + key[t >> 11 & 3]);
		}
		sum ^= a + b * 3;
	}
	return sum;
}

BENCH(xtea);
