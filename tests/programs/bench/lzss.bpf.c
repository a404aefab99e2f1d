/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Unpacks 96 tokens: bytes as they are, or copies of what was written before. */
#include "bench.h"

u8 bench_packed[128] __attribute__((visibility("hidden"))) = { 1, 2 };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u8 out[128];
	u32 at = load32(in + 600), to = at, flags = 1, sum = 0;

	for (int i = 0; i < 128; i++)
		bench_packed[i] = in[i];
	for (int i = 0; i < 128; i++)
		out[i] = 7 * i;
	for (int token = 0; token < 96; token++) {
		if (flags == 1)
			flags = bench_packed[at++ & 127] | 0x100;
		if (flags & 1) {
			u32 distance = (bench_packed[at & 127] & 15) + 1;
			u32 len = (bench_packed[at & 127] >> 4 & 7) + 3;

			at++;
			for (u32 i = 0; i < len; i++) {
				out[to & 127] = out[(to - distance) & 127];
				to++;
			}
		} else {
			out[to++ & 127] = bench_packed[at++ & 127];
		}
		flags >>= 1;
	}
	for (int i = 0; i < 128; i++)
		sum = sum * 5 + out[i];
	return sum ^ to;
}

BENCH(lzss);
