/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Counts characters and mistakes in 256 bytes of UTF-8. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 want = 0, chars = 0, bad = 0;

	for (int i = 0; i < 256; i++) {
		u8 byte = in[i];

		if (want) {
			if ((byte & 0xc0) == 0x80) {
				want--;
				continue;
			}
			bad++;
			want = 0;
		}
		chars++;
		if (byte < 0x80)
			continue;
		if (byte >= 0xf0)
			want = 3;
		else if (byte >= 0xe0)
			want = 2;
		else if (byte >= 0xc0)
			want = 1;
		else
			bad++;
	}
	return chars << 16 | bad;
}

BENCH(utf8);
