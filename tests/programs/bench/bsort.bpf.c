/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Bubble sort of 32 numbers. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 *numbers = (u32 *)scratch;

	for (int i = 0; i < 32; i++)
		numbers[i] = load32(in + 4 * i);
	for (int i = 31; i > 0; i--) {
		for (int j = 0; j < i; j++) {
			u32 a = numbers[j], b = numbers[j + 1];

			if (a > b) {
				numbers[j] = b;
				numbers[j + 1] = a;
			}
		}
	}
	return numbers[0] ^ numbers[15] ^ numbers[31];
}

BENCH(bsort);
