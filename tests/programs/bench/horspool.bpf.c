/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Horspool's search for 4 bytes in 256, small alphabet. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u8 text[256], skip[16];
	u32 at = 3, found = 0, looked = 0;

	for (int i = 0; i < 256; i++)
		text[i] = in[i] & 15;
	for (int i = 0; i < 16; i++)
		skip[i] = 4;
	skip[text[100]] = 3;
	skip[text[101]] = 2;
	skip[text[102]] = 1;
	for (int n = 0; n < 250; n++) {
		u8 last = text[at & 255];

		looked++;
		if (last == text[103] && text[(at - 1) & 255] == text[102] &&
		    text[(at - 2) & 255] == text[101] && text[(at - 3) & 255] == text[100])
			found += at;
		at += skip[last & 15];
		if (at > 255)
			break;
	}
	return found << 8 | looked;
}

BENCH(horspool);
