/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Bob Jenkins' lookup3 of 1,020 bytes read byte by byte. */
#include "bench.h"

#define MIX(x, y, z, r) (x -= z, x ^= rotl32(z, r), z += y)
#define FINAL(x, y, r) (x ^= y, x -= rotl32(y, r))

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 a = 0xdeadbeef + 1020, b = a, c = a;

	for (int i = 0; i < 1020; i += 12) {
		a += load32_le(in + i);
		b += load32_le(in + i + 4);
		c += load32_le(in + i + 8);
		MIX(a, b, c, 4);
		MIX(b, c, a, 6);
		MIX(c, a, b, 8);
		MIX(a, b, c, 16);
		MIX(b, c, a, 19);
		MIX(c, a, b, 4);
	}
	FINAL(c, b, 14);
	FINAL(a, c, 11);
	FINAL(b, a, 25);
	FINAL(c, b, 16);
	FINAL(a, c, 4);
	FINAL(b, a, 14);
	FINAL(c, b, 24);
	return c;
}

BENCH(jhash);
