/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* One-at-a-time hashes of 24 keys of 5 to 20 bytes. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = 0;

	for (int i = 0; i < 24; i++) {
		const u8 *key = in + 32 * i;
		u32 length = 5 + (key[31] & 15), hash = i;

		for (u32 k = 0; k < length; k++) {
			hash += key[k];
			hash += hash << 10;
			hash ^= hash >> 6;
		}
		hash += hash << 3;
		hash ^= hash >> 11;
		hash += hash << 15;
		sum = sum * 3 + hash;
	}
	return sum;
}

BENCH(oaat);
