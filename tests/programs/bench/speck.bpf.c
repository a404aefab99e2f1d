/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Speck128/128 of 64 bytes. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u64 sum = 0;

	for (int block = 0; block < 4; block++) {
		u64 x = load64(in + 16 * block), y = load64(in + 16 * block + 8);
		u64 k = load64(in + 128), l = load64(in + 136);

		for (u64 i = 0; i < 32; i++) {
			x = (rotl64(x, 56) + y) ^ k;
			y = rotl64(y, 3) ^ x;
			l = (rotl64(l, 56) + k) ^ i;
			k = rotl64(k, 3) ^ l;
		}
		sum ^= x + 3 * y;
	}
	return sum ^ sum >> 32;
}

BENCH(speck);
