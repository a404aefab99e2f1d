/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Frames of QUIC: types and lengths in variable-length numbers. */
#include "bench.h"

u8 bench_frames[256] __attribute__((visibility("hidden"))) = { 1, 2 };

INLINE u64 number(u32 *at)
{
	u64 value = bench_frames[*at & 255];
	u32 more = value >= 0xc0 ? 7 : value >= 0x80 ? 3 : value >= 0x40 ? 1 : 0;

	value &= 0x3f;
	*at += 1;
	for (u32 i = 0; i < more; i++)
		value = value << 8 | bench_frames[(*at + i) & 255];
	*at += more;
	return value;
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 at = load32(in + 600);
	u64 sum = at;

	for (int i = 0; i < 256; i++)
		bench_frames[i] = in[i + 512];
	for (int n = 0; n < 40; n++) {
		u32 type = bench_frames[at++ & 255] & 31;

		if (type >= 8 && type <= 15) {
			sum += number(&at);
			if (type & 4)
				sum ^= number(&at);
			if (type & 2)
				at += number(&at) & 15;
		} else if (type == 2 || type == 3) {
			sum = sum * 3 + number(&at) + number(&at);
		} else if (type > 1) {
			sum = sum * 5 + number(&at);
		}
	}
	return sum ^ sum >> 32 ^ at;
}

BENCH(quic);
