/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Matches 6 names of 24 bytes with a pattern of stars and question marks. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u8 pattern[8], text[32];
	u32 found = 0, steps = 0;

	for (int i = 0; i < 8; i++) {
		u8 c = in[i + 700];

		pattern[i] = i == 0 || i == 3 ? '*' : i == 5 ? '?' : 'a' + (c & 1);
	}
	for (int name = 0; name < 6; name++) {
		u32 start = load32(in + 8 * name), at = start, back = at;
		u32 p = start, star = p + 8;

		for (int i = 0; i < 32; i++)
			text[i] = 'a' + (in[24 * name + i] & 1);
		for (int step = 0; step < 32 && at - start < 24; step++) {
			u8 c = text[at & 31];
			u8 want = pattern[(p - start) & 7];

			if (p - start < 8 && want == '*') {
				star = p++;
				back = at;
			} else if (p - start < 8 && (want == '?' || want == c)) {
				p++;
				at++;
			} else if (star - start < 8) {
				p = star + 1;
				at = ++back;
			} else {
				break;
			}
			steps += at;
		}
		if (at - start >= 24 && p - start >= 8)
			found |= 1u << name;
	}
	return found ^ steps << 8;
}

BENCH(glob);
