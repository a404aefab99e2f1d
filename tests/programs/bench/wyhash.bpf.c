/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A hash that multiplies to 128 bits, by halves, over 512 bytes. */
#include "bench.h"

INLINE u64 mix(u64 a, u64 b)
{
	u64 al = (u32)a, ah = a >> 32, bl = (u32)b, bh = b >> 32;
	u64 low = al * bl, mid = ah * bl + (low >> 32), mid2 = al * bh + (u32)mid;

	return (mid2 << 32 | (u32)low) ^ (ah * bh + (mid >> 32) + (mid2 >> 32));
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u64 seed = 0xa0761d6478bd642f, see = seed, hash;

	for (int i = 0; i < 512; i += 32) {
		seed = mix(load64(in + i) ^ 0xe7037ed1a0b428db, load64(in + i + 8) ^ seed);
		see = mix(load64(in + i + 16) ^ 0x8ebc6af09c88c6e3, load64(in + i + 24) ^ see);
	}
	hash = mix(seed ^ see, 0x589965cc75374cc3 ^ 512);
	return hash ^ hash >> 32;
}

BENCH(wyhash);
