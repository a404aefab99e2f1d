/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The hash of 8 flows that network cards compute. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = 0;

	for (int flow = 0; flow < 8; flow++) {
		u64 key = 0x6d5a56da255b0ec2;
		u32 hash = 0;

		for (int i = 0; i < 12; i++) {
			u32 byte = in[128 * flow + 26 + i];

			for (int bit = 7; bit >= 0; bit--) {
				if (byte >> bit & 1)
					hash ^= key >> 32;
				key = rotl64(key, 1);
			}
		}
		sum = sum * 3 + hash;
	}
	return sum;
}

BENCH(toeplitz);
