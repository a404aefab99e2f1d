/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The product of two numbers of 256 bits, in limbs of 32. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 product[16], sum = 0;

	for (int i = 0; i < 16; i++)
		product[i] = 0;
	for (int i = 0; i < 8; i++) {
		u64 carry = 0, a = load32(in + 4 * i);

		for (int j = 0; j < 8; j++) {
			carry += product[i + j] + a * load32(in + 64 + 4 * j);
			product[i + j] = carry;
			carry >>= 32;
		}
		product[i + 8] = carry;
	}
	for (int i = 0; i < 16; i++)
		sum ^= product[i] * (i + 1);
	return sum;
}

BENCH(bigmul);
