/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Options of TCP in 16 headers of up to 40 bytes: kind, length, value. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u8 options[40];
	u32 sum = 0;

	for (int header = 0; header < 16; header++) {
		u32 at = 0;

		for (int i = 0; i < 40; i++)
			options[i] = in[40 * header / 2 + i];
		for (int n = 0; n < 12; n++) {
			u32 kind, len;

			if (at > 37)
				break;
			kind = options[at] & 15;
			if (kind == 0)
				break;
			if (kind == 1) {
				at++;
				continue;
			}
			len = options[at + 1] & 7;
			if (len < 2)
				break;
			if (kind == 2)
				sum += options[at + 2];
			sum = sum * 5 + kind;
			at += len;
		}
	}
	return sum;
}

BENCH(options);
