/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Solves eight equations modulo 65521 by elimination. */
#include "bench.h"

enum { PRIME = 65521 };

INLINE u32 inverse(u32 a)
{
	u32 result = 1, power = PRIME - 2;

	for (int i = 0; i < 16; i++) {
		if (power >> i & 1)
			result = result * a % PRIME;
		a = a * a % PRIME;
	}
	return result;
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 m[8][9], sum = 0;

	for (int i = 0; i < 8; i++)
		for (int k = 0; k < 9; k++)
			m[i][k] = (in[9 * i + k] << 8 | in[9 * i + k + 128]) % PRIME;
	for (int col = 0; col < 8; col++) {
		u32 by;

		if (!m[col][col])
			m[col][col] = 1;
		by = inverse(m[col][col]);
		for (int k = 0; k < 9; k++)
			m[col][k] = m[col][k] * by % PRIME;
		for (int i = 0; i < 8; i++) {
			u32 factor = m[i][col];

			if (i == col || !factor)
				continue;
			for (int k = 0; k < 9; k++)
				m[i][k] = (m[i][k] + (PRIME - factor) * m[col][k]) % PRIME;
		}
	}
	for (int i = 0; i < 8; i++)
		sum = sum * 31 + m[i][8];
	return sum;
}

BENCH(gauss);
