/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A table of 64 places with open addressing: 40 keys counted. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u16 keys[64], counts[64];
	u32 sum = 0;

	for (int i = 0; i < 64; i++)
		keys[i] = counts[i] = 0;
	for (int i = 0; i < 40; i++) {
		u32 key = in[i] & 31, at = key * 0x9e3779b1 >> 26;

		key++;
		for (int probe = 0; probe < 8; probe++) {
			if (keys[at & 63] == key)
				break;
			if (!keys[at & 63]) {
				keys[at & 63] = key;
				break;
			}
			at++;
		}
		counts[at & 63]++;
	}
	for (int i = 0; i < 64; i++)
		sum = sum * 3 + keys[i] * counts[i];
	return sum;
}

BENCH(hashtab);
