/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Multiplies and adds 32 numbers of IEEE's form with 32 bits, without a unit for it. */
#include "bench.h"

INLINE u32 packed(u32 sign, s32 exponent, u64 fraction)
{
	if (!fraction || exponent <= 0)
		return sign;
	while (fraction >= 1ull << 24) {
		fraction >>= 1;
		exponent++;
	}
	while (fraction < 1ull << 23 && exponent > 0) {
		fraction <<= 1;
		exponent--;
	}
	if (exponent >= 255)
		return sign | 0x7f800000;
	return sign | exponent << 23 | (fraction & 0x7fffff);
}

INLINE u32 times(u32 a, u32 b)
{
	u32 sign = (a ^ b) & 0x80000000;
	s32 exponent = (a >> 23 & 255) + (b >> 23 & 255) - 127;
	u64 x = (a & 0x7fffff) | 0x800000, y = (b & 0x7fffff) | 0x800000;

	return packed(sign, exponent, x * y >> 23);
}

INLINE u32 plus(u32 a, u32 b)
{
	s32 ea = a >> 23 & 255, eb = b >> 23 & 255;
	s64 x = ((a & 0x7fffff) | 0x800000) << 3, y = ((b & 0x7fffff) | 0x800000) << 3;
	u32 sign;

	if (ea < eb) {
		x >>= (eb - ea) & 31;
		ea = eb;
	} else {
		y >>= (ea - eb) & 31;
	}
	x = a >> 31 ? -x : x;
	x += b >> 31 ? -y : y;
	sign = x < 0 ? 0x80000000 : 0;
	return packed(sign, ea, (x < 0 ? -x : x) >> 3);
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = 0x3f800000;

	for (int i = 0; i < 32; i++) {
		u32 a = 0x3f000000 | (load32(in + 8 * i) & 0x80ffffff);
		u32 b = 0x3f000000 | (load32(in + 8 * i + 4) & 0x80ffffff);

		sum = plus(sum, times(a, b));
	}
	return sum;
}

BENCH(softmul);
