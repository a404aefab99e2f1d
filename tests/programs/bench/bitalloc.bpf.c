/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* An allocator of runs of bits in 256: 40 requests, a third of them give back. */
#include "bench.h"

u64 bench_map[4] __attribute__((visibility("hidden"))) = { 1 };
u8 bench_starts[16] __attribute__((visibility("hidden"))) = { 1 };
u8 bench_lengths[16] __attribute__((visibility("hidden"))) = { 1 };

INLINE u32 first_zero(u64 word)
{
	u32 at = 0;

	word = ~word;
	if (!(word & 0xffffffff)) {
		at += 32;
		word >>= 32;
	}
	if (!(word & 0xffff)) {
		at += 16;
		word >>= 16;
	}
	if (!(word & 0xff)) {
		at += 8;
		word >>= 8;
	}
	if (!(word & 0xf)) {
		at += 4;
		word >>= 4;
	}
	if (!(word & 3)) {
		at += 2;
		word >>= 2;
	}
	return at + !(word & 1);
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = load32(in + 600), failed = sum;

	for (int i = 0; i < 4; i++)
		bench_map[i] = load64(in + 8 * i) & 0xf0ff0f00ff00;
	for (int i = 0; i < 16; i++)
		bench_lengths[i] = bench_starts[i] = 0;

	for (int i = 0; i < 40; i++) {
		u32 slot = in[i] & 15, want = (in[i] >> 4 & 7) + 1;

		if (bench_lengths[slot]) {
			u64 mask = ((1ull << (bench_lengths[slot] & 15)) - 1) << (bench_starts[slot] & 63);

			bench_map[bench_starts[slot] >> 6 & 3] &= ~mask;
			bench_lengths[slot] = 0;
			continue;
		}
		for (int w = 0; w < 4; w++) {
			u64 free = ~bench_map[w];

			for (u32 k = 1; k < want; k++)
				free &= free >> 1;
			if (!free)
				continue;
			bench_starts[slot] = w * 64 + first_zero(~free);
			bench_lengths[slot] = want;
			bench_map[w] |= ((1ull << want) - 1) << (bench_starts[slot] & 63);
			break;
		}
		if (!bench_lengths[slot])
			failed++;
		sum = sum * 7 + bench_starts[slot];
	}
	return sum ^ failed << 24 ^ (u32)bench_map[0] ^ (u32)(bench_map[1] >> 7) ^ (u32)bench_map[2];
}

BENCH(bitalloc);
