/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* MurmurHash3 of 512 bytes, 32 bits. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 hash = 0x1234;

	for (int i = 0; i < 512; i += 4) {
		u32 k = load32(in + i) * 0xcc9e2d51;

		hash ^= rotl32(k, 15) * 0x1b873593;
		hash = rotl32(hash, 13) * 5 + 0xe6546b64;
	}
	hash ^= 512;
	hash = (hash ^ hash >> 16) * 0x85ebca6b;
	hash = (hash ^ hash >> 13) * 0xc2b2ae35;
	return hash ^ hash >> 16;
}

BENCH(murmur);
