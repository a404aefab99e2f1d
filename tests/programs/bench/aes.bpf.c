/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Rounds of a block cipher on 16 bytes: rows shifted, columns mixed, a power in place of a table. */
#include "bench.h"

INLINE u8 twice(u8 x)
{
	return x << 1 ^ (x & 0x80 ? 0x1b : 0);
}

INLINE u8 box(u8 x)
{
	u8 y = x ^ (u8)(x << 1 | x >> 7) ^ (u8)(x << 3 | x >> 5);

	return y * 5 ^ 0x63;
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u8 state[16], next[16];
	u32 sum = 0;

	for (int i = 0; i < 16; i++)
		state[i] = in[i] ^ in[16 + i];
	for (int round = 0; round < 8; round++) {
		for (int column = 0; column < 4; column++)
			for (int row = 0; row < 4; row++)
				next[4 * column + row] =
					box(state[(4 * (column + row) + row) & 15]);
		for (int column = 0; column < 4; column++) {
			u8 *c = next + 4 * column;
			u8 all = c[0] ^ c[1] ^ c[2] ^ c[3];

			for (int row = 0; row < 4; row++)
				state[4 * column + row] =
					c[row] ^ all ^ twice(c[row] ^ c[(row + 1) & 3]) ^
					in[32 + 16 * round + 4 * column + row];
		}
	}
	for (int i = 0; i < 16; i++) {
		scratch[i] = state[i];
		sum = sum * 31 + state[i];
	}
	return sum;
}

BENCH(aes);
