/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Fibonacci numbers, one addition after the other. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u64 a = in[0], b = in[1];

	for (int i = 0; i < 200; i++) {
		u64 next = a + b;

		a = b;
		b = next;
	}
	return a ^ b >> 32;
}

BENCH(fib);
