/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Words of letters, looked up by their hash in a table. */
#include "bench.h"

const u8 bench_letters[32] __attribute__((visibility("hidden"))) = "abcdefghijklmnopqrstuvwxyz      ";
const u8 bench_slots[64] __attribute__((visibility("hidden"))) = { 3, 9, 27, 17, 51, 25, 11, 33, 35 };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 hash = load32(in + 700), sum = hash, words = hash;

	for (int i = 0; i < 256; i++) {
		u8 c = bench_letters[in[i] & 31];

		if (c != ' ') {
			hash = hash * 5 + c;
			continue;
		}
		if (bench_slots[hash & 63] > (hash >> 6 & 31))
			sum = sum * 13 + hash;
		else
			sum ^= hash;
		hash = words++;
	}
	return sum ^ words << 20;
}

BENCH(keywords);
