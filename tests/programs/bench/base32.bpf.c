/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* 160 bytes in base32 and back, with the digits of RFC 4648. */
#include "bench.h"

INLINE u8 letter(u32 five)
{
	return five < 26 ? 'A' + five : '2' + five - 26;
}

INLINE u32 value(u8 c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= '2' && c <= '7')
		return c - '2' + 26;
	return 255;
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 bad = 0, sum = 0;

	for (int block = 0; block < 32; block++) {
		const u8 *from = in + 5 * block;
		u8 *to = scratch + 8 * block;
		u64 bits = 0;

		for (int i = 0; i < 5; i++)
			bits = bits << 8 | from[i];
		for (int i = 0; i < 8; i++)
			to[i] = letter(bits >> (35 - 5 * i) & 31);
	}
	scratch[200] = '1';
	for (int block = 0; block < 32; block++) {
		u64 bits = 0;

		for (int i = 0; i < 8; i++) {
			u32 five = value(scratch[8 * block + i]);

			if (five > 31) {
				bad++;
				five = 0;
			}
			bits = bits << 5 | five;
		}
		sum = sum * 31 + (u32)(bits >> 20) + (u32)bits;
	}
	return sum + bad;
}

BENCH(base32);
