/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Salsa20/8 of one block, as scrypt uses it. */
#include "bench.h"

#define STEP(to, a, b, by) to ^= rotl32(a + b, by)

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 x[16], sum = 0;

	for (int i = 0; i < 16; i++)
		x[i] = load32(in + 4 * i);
	for (int i = 0; i < 8; i += 2) {
		STEP(x[4], x[0], x[12], 7), STEP(x[8], x[4], x[0], 9);
		STEP(x[12], x[8], x[4], 13), STEP(x[0], x[12], x[8], 18);
		STEP(x[9], x[5], x[1], 7), STEP(x[13], x[9], x[5], 9);
		STEP(x[1], x[13], x[9], 13), STEP(x[5], x[1], x[13], 18);
		STEP(x[14], x[10], x[6], 7), STEP(x[2], x[14], x[10], 9);
		STEP(x[6], x[2], x[14], 13), STEP(x[10], x[6], x[2], 18);
		STEP(x[3], x[15], x[11], 7), STEP(x[7], x[3], x[15], 9);
		STEP(x[11], x[7], x[3], 13), STEP(x[15], x[11], x[7], 18);
		STEP(x[1], x[0], x[3], 7), STEP(x[2], x[1], x[0], 9);
		STEP(x[3], x[2], x[1], 13), STEP(x[0], x[3], x[2], 18);
		STEP(x[6], x[5], x[4], 7), STEP(x[7], x[6], x[5], 9);
		STEP(x[4], x[7], x[6], 13), STEP(x[5], x[4], x[7], 18);
		STEP(x[11], x[10], x[9], 7), STEP(x[8], x[11], x[10], 9);
		STEP(x[9], x[8], x[11], 13), STEP(x[10], x[9], x[8], 18);
		STEP(x[12], x[15], x[14], 7), STEP(x[13], x[12], x[15], 9);
		STEP(x[14], x[13], x[12], 13), STEP(x[15], x[14], x[13], 18);
	}
	for (int i = 0; i < 16; i++)
		sum = sum * 31 + x[i] + load32(in + 4 * i);
	return sum;
}

BENCH(salsa);
