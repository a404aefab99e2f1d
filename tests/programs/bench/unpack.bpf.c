/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Copies with length and distance, as LZ does, 64 of them. */
#include "bench.h"

u8 bench_window[256] __attribute__((visibility("hidden"))) = { 1 };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 at = in[200], sum = 0;

	for (int i = 0; i < 256; i++)
		bench_window[i] = i;
	for (int i = 0; i < 64; i++) {
		u32 distance = in[2 * i] + 1, len = (in[2 * i + 1] & 7) + 3;

		for (u32 n = 0; n < 10; n++) {
			if (n >= len)
				break;
			bench_window[at] = bench_window[(at - distance) & 255] + 1;
			at = (at + 1) & 255;
		}
	}
	for (int i = 0; i < 256; i++)
		sum = sum * 5 + bench_window[i];
	return sum ^ at;
}

BENCH(unpack);
