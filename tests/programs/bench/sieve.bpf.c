/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Primes below 1,024. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 primes = 0;

	for (int i = 0; i < SCRATCH_BYTES; i++)
		scratch[i] = 1;
	for (int i = 2; i < 32; i++) {
		if (scratch[i] == 0)
			continue;
		for (int j = i * i; j < SCRATCH_BYTES; j += i)
			scratch[j] = 0;
	}
	for (int i = 2; i < SCRATCH_BYTES; i++)
		primes += scratch[i];
	return primes;
}

BENCH(sieve);
