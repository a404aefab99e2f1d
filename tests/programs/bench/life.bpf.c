/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Three generations of life on 16 rows of 32 cells, a bit each. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 rows[16], next[16], sum = 0;

	for (int i = 0; i < 16; i++)
		rows[i] = load32(in + 4 * i);
	for (int n = 0; n < 3; n++) {
		for (int i = 0; i < 16; i++) {
			u32 up = rows[(i + 15) & 15], here = rows[i], down = rows[(i + 1) & 15];
			u32 a[8] = { up << 1, up, up >> 1, here << 1, here >> 1, down << 1, down, down >> 1 };
			u32 ones = 0, twos = 0, fours = 0;

			for (int k = 0; k < 8; k++) {
				u32 carry = ones & a[k];

				ones ^= a[k];
				fours |= twos & carry;
				twos ^= carry;
			}
			next[i] = twos & ~fours & (ones | here);
		}
		for (int i = 0; i < 16; i++)
			rows[i] = next[i];
	}
	for (int i = 0; i < 16; i++)
		sum = sum * 3 + rows[i];
	return sum;
}

BENCH(life);
