/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Looks for 4 strings of 8 bytes in 384 by a rolling hash. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 wanted[4], hash = 0, power = 1, found = 0;

	for (int i = 0; i < 7; i++)
		power *= 257;
	for (int k = 0; k < 4; k++) {
		u32 h = 0;

		for (int i = 0; i < 8; i++)
			h = h * 257 + in[90 * k + i + 17];
		wanted[k] = h;
	}
	for (int i = 0; i < 8; i++)
		hash = hash * 257 + in[i];
	for (int i = 0; i < 376; i++) {
		for (int k = 0; k < 4; k++) {
			if (hash != wanted[k])
				continue;
			if (load64(in + i) == load64(in + 90 * k + 17))
				found = found * 5 + i + k;
		}
		hash = (hash - in[i] * power) * 257 + in[i + 8];
	}
	return found ^ hash;
}

BENCH(rabin);
