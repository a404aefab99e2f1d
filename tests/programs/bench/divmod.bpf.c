/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Divisions by numbers known and not known, of 32 and 64 bits. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u64 sum = 0;

	for (int i = 0; i < 512; i += 8) {
		u64 x = load64(in + i);
		u32 by = in[i] + 1;

		sum += x / 10 + x % 1000;
		sum += (u32)x / 7 + (u32)x % 60;
		sum ^= (u32)(x >> 32) / by + x % (by | 256);
	}
	return sum ^ sum >> 32;
}

BENCH(divmod);
