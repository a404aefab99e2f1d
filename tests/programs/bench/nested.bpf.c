/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Three loops in each other. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = 0;

	for (int i = 0; i < 12; i++) {
		u32 row = in[i];

		for (int j = 0; j < 8; j++) {
			u32 column = in[64 + j] ^ row;

			for (int k = 0; k < 6; k++)
				sum += column * in[128 + k] >> (k + 1);
			sum ^= column;
		}
	}
	return sum;
}

BENCH(nested);
