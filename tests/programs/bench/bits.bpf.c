/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Population count, reversal and leading zeros of 64 numbers. */
#include "bench.h"

INLINE u64 popcount(u64 x)
{
	x -= x >> 1 & 0x5555555555555555ull;
	x = (x & 0x3333333333333333ull) + (x >> 2 & 0x3333333333333333ull);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full;
	return x * 0x0101010101010101ull >> 56;
}

INLINE u64 reversed(u64 x)
{
	x = (x >> 1 & 0x5555555555555555ull) | (x & 0x5555555555555555ull) << 1;
	x = (x >> 2 & 0x3333333333333333ull) | (x & 0x3333333333333333ull) << 2;
	x = (x >> 4 & 0x0f0f0f0f0f0f0f0full) | (x & 0x0f0f0f0f0f0f0f0full) << 4;
	return __builtin_bswap64(x);
}

INLINE u64 leading_zeros(u64 x)
{
	x |= x >> 1;
	x |= x >> 2;
	x |= x >> 4;
	x |= x >> 8;
	x |= x >> 16;
	x |= x >> 32;
	return 64 - popcount(x);
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u64 sum = 0;

	for (int i = 0; i < 512; i += 8) {
		u64 x = load64(in + i);

		sum = sum * 3 + popcount(x) + leading_zeros(x >> (x & 63));
		sum ^= reversed(x);
	}
	return sum ^ sum >> 32;
}

BENCH(bits);
