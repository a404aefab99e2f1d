/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* FNV-1a of 256 bytes, 64 bits. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u64 hash = 0xcbf29ce484222325;

	for (int i = 0; i < 256; i++)
		hash = (hash ^ in[i]) * 0x100000001b3;
	return hash ^ hash >> 32;
}

BENCH(fnv);
