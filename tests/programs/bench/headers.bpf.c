/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Hashes the names of the fields in 512 bytes of a text protocol. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 hash = 5381, sum = 0, names = 0, in_name = 1;

	for (int i = 0; i < 512; i++) {
		u8 c = in[i];

		if (c == '\n') {
			in_name = 1;
			hash = 5381;
		} else if (c == ':' && in_name) {
			in_name = 0;
			names++;
			sum ^= hash;
		} else if (in_name) {
			if (c >= 'A' && c <= 'Z')
				c |= 0x20;
			hash = hash * 33 + c;
		}
	}
	return sum ^ names << 24;
}

BENCH(headers);
