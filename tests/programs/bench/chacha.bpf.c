/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* ChaCha20 of 128 bytes, from RFC 8439. */
#include "bench.h"

#define QUARTER(a, b, c, d)                                                                    \
	a += b, d = rotl32(d ^ a, 16);                                                         \
	c += d, b = rotl32(b ^ c, 12);                                                         \
	a += b, d = rotl32(d ^ a, 8);                                                          \
	c += d, b = rotl32(b ^ c, 7)

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = 0;

	for (u32 block = 0; block < 2; block++) {
		u32 x0 = 0x61707865, x1 = 0x3320646e, x2 = 0x79622d32, x3 = 0x6b206574;
		u32 x4 = load32(in), x5 = load32(in + 4), x6 = load32(in + 8);
		u32 x7 = load32(in + 12), x8 = load32(in + 16), x9 = load32(in + 20);
		u32 x10 = load32(in + 24), x11 = load32(in + 28), x12 = block;
		u32 x13 = load32(in + 32), x14 = load32(in + 36), x15 = load32(in + 40);

		for (int i = 0; i < 10; i++) {
			QUARTER(x0, x4, x8, x12);
			QUARTER(x1, x5, x9, x13);
			QUARTER(x2, x6, x10, x14);
			QUARTER(x3, x7, x11, x15);
			QUARTER(x0, x5, x10, x15);
			QUARTER(x1, x6, x11, x12);
			QUARTER(x2, x7, x8, x13);
			QUARTER(x3, x4, x9, x14);
		}
		sum += x0 ^ x1 ^ x2 ^ x3 ^ x4 ^ x5 ^ x6 ^ x7;
		sum += (x8 ^ x9 ^ x10 ^ x11 ^ x12 ^ x13 ^ x14 ^ x15) * 3;
	}
	return sum;
}

BENCH(chacha);
