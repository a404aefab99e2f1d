/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Compares 512 bytes, byte by byte, that differ at the end. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	for (int i = 0; i < 512; i++) {
		if (in[i] != in[i + 512])
			return i;
	}
	return 512;
}

BENCH(memcmp_);
