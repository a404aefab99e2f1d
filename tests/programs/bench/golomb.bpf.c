/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Reads 96 numbers of a bit stream: runs of zeros, then as many bits; signed ones in turn. */
#include "bench.h"

u8 bench_stream[512 + 8] __attribute__((visibility("hidden"))) = { 1, 2 };

struct reader {
	u32 at;
};

INLINE u32 peek(const struct reader *reader, u32 count)
{
	const u8 *p = bench_stream + (reader->at >> 3 & 511);
	u64 bits = (u64)load32_be(p) << 32 | (u64)p[4] << 24;

	return bits << (reader->at & 7) >> (64 - count);
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	struct reader reader = { load32(in + 600) };
	u32 sum = 0;

	for (int i = 0; i < 512; i++)
		bench_stream[i] = in[i];
	for (int n = 0; n < 96; n++) {
		u32 zeros = 0, code;

		for (int i = 0; i < 12; i++) {
			if (peek(&reader, 1))
				break;
			reader.at++;
			zeros++;
		}
		code = peek(&reader, zeros + 1) - 1;
		reader.at += zeros + 1;
		if (n & 1) {
			int value = code & 1 ? (int)((code + 1) >> 1) : -(int)(code >> 1);

			sum = sum * 17 + value;
		} else {
			sum = sum * 17 + code;
		}
	}
	return sum ^ reader.at << 16;
}

BENCH(golomb);
