/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* xxHash64 of 1,024 bytes, from its specification. */
#include "bench.h"

#define P1 0x9e3779b185ebca87ull
#define P2 0xc2b2ae3d27d4eb4full
#define P3 0x165667b19e3779f9ull
#define P4 0x85ebca77c2b2ae63ull

INLINE u64 round64(u64 acc, u64 lane)
{
	return rotl64(acc + lane * P2, 31) * P1;
}

INLINE u64 merge(u64 hash, u64 acc)
{
	return (hash ^ round64(0, acc)) * P1 + P4;
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u64 a = P1 + P2, b = P2, c = 0, d = -P1, hash;

	for (int i = 0; i < INPUT_BYTES; i += 32) {
		a = round64(a, load64(in + i));
		b = round64(b, load64(in + i + 8));
		c = round64(c, load64(in + i + 16));
		d = round64(d, load64(in + i + 24));
	}
	hash = rotl64(a, 1) + rotl64(b, 7) + rotl64(c, 12) + rotl64(d, 18);
	hash = merge(merge(merge(merge(hash, a), b), c), d) + INPUT_BYTES;
	hash = (hash ^ hash >> 33) * P2;
	hash = (hash ^ hash >> 29) * P3;
	return hash ^ hash >> 32;
}

BENCH(xxh64);
