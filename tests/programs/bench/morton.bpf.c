/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Bits of two numbers interleaved and parted again, 32 times. */
#include "bench.h"

INLINE u64 spread(u64 x)
{
	x = (x | x << 16) & 0x0000ffff0000ffff;
	x = (x | x << 8) & 0x00ff00ff00ff00ff;
	x = (x | x << 4) & 0x0f0f0f0f0f0f0f0f;
	x = (x | x << 2) & 0x3333333333333333;
	return (x | x << 1) & 0x5555555555555555;
}

INLINE u64 parted(u64 x)
{
	x &= 0x5555555555555555;
	x = (x | x >> 1) & 0x3333333333333333;
	x = (x | x >> 2) & 0x0f0f0f0f0f0f0f0f;
	x = (x | x >> 4) & 0x00ff00ff00ff00ff;
	x = (x | x >> 8) & 0x0000ffff0000ffff;
	return (x | x >> 16) & 0xffffffff;
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u64 sum = 0;

	for (int i = 0; i < 32; i++) {
		u64 code = spread(load32(in + 8 * i)) | spread(load32(in + 8 * i + 4)) << 1;

		sum += parted(code * 3) ^ code;
	}
	return sum ^ sum >> 32;
}

BENCH(morton);
