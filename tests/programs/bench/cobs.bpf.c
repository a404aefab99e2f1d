/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Byte stuffing without zeros of 160 bytes, and back. */
#include "bench.h"

u8 bench_out[256] __attribute__((visibility("hidden"))) = { 1, 2 };
u8 bench_frame[512] __attribute__((visibility("hidden"))) = { 1, 2 };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 code_at = load32(in + 600), to = code_at + 1, code = 0xff, left = in[604] & 1;
	u32 first = code_at, sum = first, size = sum;

	for (int i = 0; i < 160; i++) {
		u8 c = in[i] & 15;

		if (c)
			bench_frame[to++ & 511] = c;
		if (!c || to - code_at == 0xff) {
			bench_frame[code_at & 511] = to - code_at;
			code_at = to++;
		}
	}
	bench_frame[code_at & 511] = to - code_at;
	for (u32 n = 0; n < 180; n++) {
		u8 c = bench_frame[(first + n) & 511];

		if (first + n == to)
			break;
		if (left) {
			bench_out[size & 255] = c;
			sum = sum * 7 + c;
			size++;
			left--;
		} else {
			if (code != 0xff) {
				bench_out[size & 255] = 0;
				sum *= 7;
				size++;
			}
			code = c;
			left = code - 1;
		}
	}
	return sum ^ size << 20 ^ to;
}

BENCH(cobs);
