/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* 128 half bytes with the three bits that mend one, one of them broken in each third. */
#include "bench.h"

u8 bench_words[128] __attribute__((visibility("hidden"))) = { 1 };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 mended = load32(in + 600), sum = mended;

	for (int i = 0; i < 128; i++) {
		u32 d = in[i] & 15, a = d & 1, b = d >> 1 & 1, c = d >> 2 & 1, e = d >> 3;

		bench_words[i] = (a ^ b ^ e) | (a ^ c ^ e) << 1 | a << 2 | (b ^ c ^ e) << 3 | b << 4 |
				 c << 5 | e << 6;
	}
	for (int i = 0; i < 128; i += 3)
		bench_words[i] ^= 1 << (in[i] >> 4 & 7);
	for (int i = 0; i < 128; i++) {
		u32 w = bench_words[i], at = 0;

		at |= (w ^ w >> 2 ^ w >> 4 ^ w >> 6) & 1;
		at |= ((w >> 1 ^ w >> 2 ^ w >> 5 ^ w >> 6) & 1) << 1;
		at |= ((w >> 3 ^ w >> 4 ^ w >> 5 ^ w >> 6) & 1) << 2;
		if (at) {
			w ^= 1 << (at - 1);
			mended++;
		}
		sum = sum * 17 + ((w >> 2 & 1) | (w >> 3 & 14));
	}
	return sum ^ mended << 20;
}

BENCH(hamming);
