/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Decodes %41 and + in 256 bytes of a query, and counts its fields. */
#include "bench.h"

INLINE u32 digit(u8 c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return 16;
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u8 out[256];
	u32 to = load32(in + 600), fields = to, pairs = 0, sum = 0, skip = 0;

	for (int i = 0; i < 256; i++) {
		u8 c = in[i];

		if (skip) {
			skip--;
			continue;
		}
		if (c == '&') {
			fields++;
		} else if (c == '=') {
			pairs += fields;
		} else if (c == '+') {
			c = ' ';
		} else if (c == '%') {
			u32 high = digit(in[i + 1]), low = digit(in[i + 2]);

			if (high < 16 && low < 16) {
				c = high << 4 | low;
				skip = 2;
			}
		}
		out[to++ & 255] = c;
		sum = sum * 31 + c;
	}
	return sum ^ to << 20 ^ fields << 8 ^ pairs ^ out[sum & 255];
}

BENCH(urldecode);
