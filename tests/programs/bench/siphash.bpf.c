/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* SipHash-2-4 of 512 bytes, from its paper. */
#include "bench.h"

#define ROUND()                                                                                \
	(v0 += v1, v1 = rotl64(v1, 13), v1 ^= v0, v0 = rotl64(v0, 32), v2 += v3,               \
	 v3 = rotl64(v3, 16), v3 ^= v2, v0 += v3, v3 = rotl64(v3, 21), v3 ^= v0, v2 += v1,     \
	 v1 = rotl64(v1, 17), v1 ^= v2, v2 = rotl64(v2, 32))

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u64 k0 = load64(in + 1008), k1 = load64(in + 1016), last = 512ull << 56;
	u64 v0 = k0 ^ 0x736f6d6570736575ull, v1 = k1 ^ 0x646f72616e646f6dull;
	u64 v2 = k0 ^ 0x6c7967656e657261ull, v3 = k1 ^ 0x7465646279746573ull;

	for (int i = 0; i < 512; i += 8) {
		u64 word = load64(in + i);

		v3 ^= word;
		ROUND();
		ROUND();
		v0 ^= word;
	}
	v3 ^= last;
	ROUND();
	ROUND();
	v0 ^= last;
	v2 ^= 0xff;
	ROUND();
	ROUND();
	ROUND();
	ROUND();
	v0 ^= v1 ^ v2 ^ v3;
	return v0 ^ v0 >> 32;
}

BENCH(siphash);
