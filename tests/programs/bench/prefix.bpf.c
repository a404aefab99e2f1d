/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* 96 symbols of a prefix code, out of a buffer of bits. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u8 lengths[16], symbols[16];
	u64 bits = load64(in);
	u32 sum = 0;

	for (u32 i = 0; i < 16; i++) {
		lengths[i] = i & 1 ? (i & 2 ? (i & 4 ? 4 : 3) : 2) : 1;
		symbols[i] = i * 7;
	}
	for (int i = 0; i < 96; i++) {
		u32 len = lengths[bits & 15];

		sum = sum * 3 + symbols[bits & 15];
		bits >>= len & 63;
		bits |= (u64)in[8 + i] << 56;
	}
	return sum;
}

BENCH(prefix);
