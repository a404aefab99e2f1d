/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Writes 24 numbers in decimal and reads them again. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u8 text[16];
	u32 sum = 0;

	for (int i = 0; i < 24; i++) {
		u32 value = load32(in + 4 * i), back = 0, len = 0;

		for (int n = 0; n < 10; n++) {
			text[(15 - n) & 15] = '0' + value % 10;
			value /= 10;
			len++;
			if (!value)
				break;
		}
		for (int n = 0; n < 10 && n < len; n++)
			back = back * 10 + text[(16 - len + n) & 15] - '0';
		sum += back ^ len;
	}
	return sum;
}

BENCH(number);
