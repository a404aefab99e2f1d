/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The product of two matrices of 8 by 8 numbers of 32 bits. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	const u32 *a = (const u32 *)in, *b = a + 64;
	u32 *c = (u32 *)scratch, trace = 0;

	for (int i = 0; i < 8; i++) {
		for (int j = 0; j < 8; j++) {
			u32 sum = 0;

			for (int k = 0; k < 8; k++)
				sum += a[8 * i + k] * b[8 * k + j];
			c[8 * i + j] = sum;
		}
	}
	for (int i = 0; i < 8; i++)
		trace += c[9 * i];
	return trace;
}

BENCH(matmul);
