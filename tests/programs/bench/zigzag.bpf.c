/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Differences of 96 numbers, with the sign in the lowest bit, in groups of seven bits. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u8 out[256];
	u32 to = load32(in + 600), sum = 0;
	s32 last = to;

	for (int i = 0; i < 256; i++)
		out[i] = i;

	for (int i = 0; i < 96; i++) {
		s32 value = (s32)(load32(in + 4 * i) & 0xfffff), by = value - last;
		u32 code = (u32)by << 1 ^ (u32)(by >> 31);

		last = value;
		while (code >= 0x80) {
			out[to++ & 255] = code | 0x80;
			code >>= 7;
		}
		out[to++ & 255] = code;
	}
	for (u32 i = 0; i < 256; i++)
		sum = sum * 31 + out[i];
	return sum ^ to;
}

BENCH(zigzag);
