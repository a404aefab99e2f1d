/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Counts tokens and depth of 512 bytes like JSON. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 depth = in[511] & 1, deepest = depth, strings = 0, numbers = 0, inside = 0, last = 0;

	for (int i = 0; i < 512; i++) {
		u8 c = in[i];

		if (inside) {
			if (c == '"' && last != '\\')
				inside = 0;
		} else if (c == '"') {
			inside = 1;
			strings++;
		} else if (c == '{' || c == '[') {
			depth = (depth + 1) & 31;
			if (depth > deepest)
				deepest = depth;
		} else if (c == '}' || c == ']') {
			depth = (depth - 1) & 31;
		} else if (c >= '0' && c <= '9' && (last < '0' || last > '9')) {
			numbers++;
		}
		last = c;
	}
	return strings | numbers << 8 | deepest << 16 | depth << 24;
}

BENCH(json);
