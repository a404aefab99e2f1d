/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The median of nine, with a network of comparisons, at 96 places. */
#include "bench.h"

#define SORT(a, b)                                                                             	do {                                                                                   		u32 x = v[a], y = v[b];                                                        		v[a] = x < y ? x : y;                                                          		v[b] = x < y ? y : x;                                                          	} while (0)

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = 0;

	for (int i = 0; i < 96; i++) {
		u32 v[9];

		for (int k = 0; k < 9; k++)
			v[k] = in[i + 32 * (k / 3) + k % 3];
		SORT(1, 2); SORT(4, 5); SORT(7, 8);
		SORT(0, 1); SORT(3, 4); SORT(6, 7);
		SORT(1, 2); SORT(4, 5); SORT(7, 8);
		SORT(0, 3); SORT(5, 8); SORT(4, 7);
		SORT(3, 6); SORT(1, 4); SORT(2, 5);
		SORT(4, 7); SORT(4, 2); SORT(6, 4);
		SORT(4, 2);
		sum = sum * 5 + v[4];
	}
	return sum;
}

BENCH(median);
