/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A Bloom filter of 1,024 bits: 32 keys go in, 64 are asked for. */
#include "bench.h"

u64 bench_bits[16] __attribute__((visibility("hidden"))) = { 1 };

INLINE u32 mixed(u32 x)
{
	x = (x ^ x >> 16) * 0x7feb352d;
	x = (x ^ x >> 15) * 0x846ca68b;
	return x ^ x >> 16;
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 hits = 0;

	for (int i = 0; i < 16; i++)
		bench_bits[i] = 0;
	for (int i = 0; i < 32; i++) {
		u32 hash = mixed(load32(in + 8 * i));

		for (int k = 0; k < 3; k++) {
			bench_bits[hash >> 6 & 15] |= 1ull << (hash & 63);
			hash >>= 10;
		}
	}
	for (int i = 0; i < 64; i++) {
		u32 hash = mixed(load32(in + 4 * i)), all = 1;

		for (int k = 0; k < 3; k++) {
			all &= bench_bits[hash >> 6 & 15] >> (hash & 63);
			hash >>= 10;
		}
		hits += all & 1;
	}
	return hits;
}

BENCH(bloom);
