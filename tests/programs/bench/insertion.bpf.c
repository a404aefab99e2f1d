/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Insertion sort of 32 numbers. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 *sorted = (u32 *)scratch;

	for (int i = 0; i < 32; i++) {
		u32 value = load32(in + 4 * i);
		int at = i;

		while (at > 0) {
			if (sorted[at - 1] <= value)
				break;
			sorted[at] = sorted[at - 1];
			at--;
		}
		sorted[at] = value;
	}
	return sorted[0] ^ sorted[7] * 3 ^ sorted[16] * 5 ^ sorted[31];
}

BENCH(insertion);
