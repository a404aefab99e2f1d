/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Decodes 256 bits with adaptive probabilities, each in the context of the last four. */
#include "bench.h"

u16 bench_odds[16] __attribute__((visibility("hidden"))) = { 1 };
u8 bench_context __attribute__((visibility("hidden"))) = 1;
u8 bench_code[256] __attribute__((visibility("hidden"))) = { 1, 2 };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 range = load32(in + 608), code = range >> 1, at = load32(in + 600), sum = at;

	bench_context = 0;
	for (int i = 0; i < 16; i++)
		bench_odds[i] = 1024;
	for (int i = 0; i < 256; i++)
		bench_code[i] = in[i];
	for (int n = 0; n < 256; n++) {
		u16 *odds = &bench_odds[bench_context & 15];
		u32 bound = (range >> 11) * *odds, bit;

		if (code < bound) {
			range = bound;
			*odds += (2048 - *odds) >> 5;
			bit = 0;
		} else {
			range -= bound;
			code -= bound;
			*odds -= *odds >> 5;
			bit = 1;
		}
		if (range < 1u << 24) {
			range <<= 8;
			code = code << 8 | bench_code[at++ & 255];
		}
		bench_context = bench_context << 1 | bit;
		asm volatile("" ::: "memory");
		sum = sum * 3 + bit;
	}
	return sum ^ range ^ at;
}

BENCH(rangecoder);
