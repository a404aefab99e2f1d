/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Base64 of 96 bytes, by comparisons. */
#include "bench.h"

INLINE u8 letter(u32 six)
{
	if (six < 26)
		return 'A' + six;
	if (six < 52)
		return 'a' + six - 26;
	if (six < 62)
		return '0' + six - 52;
	return six == 62 ? '+' : '/';
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = 0;

	for (int i = 0; i < 32; i++) {
		u32 group = in[3 * i] << 16 | in[3 * i + 1] << 8 | in[3 * i + 2];
		u8 *to = scratch + 4 * i;

		to[0] = letter(group >> 18);
		to[1] = letter(group >> 12 & 63);
		to[2] = letter(group >> 6 & 63);
		to[3] = letter(group & 63);
		sum = sum * 33 + load32(to);
	}
	return sum;
}

BENCH(base64);
