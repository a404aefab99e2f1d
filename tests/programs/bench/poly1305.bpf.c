/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Poly1305 of 128 bytes in limbs of 26 bits, from RFC 8439. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 r0 = load32(in) & 0x3ffffff, r1 = load32(in + 3) >> 2 & 0x3ffff03;
	u32 r2 = load32(in + 6) >> 4 & 0x3ffc0ff, r3 = load32(in + 9) >> 6 & 0x3f03fff;
	u32 r4 = load32(in + 12) >> 8 & 0x00fffff;
	u32 h0 = 0, h1 = 0, h2 = 0, h3 = 0, h4 = 0;

	for (int i = 0; i < 128; i += 16) {
		u64 d0, d1, d2, d3, d4;

		h0 += load32(in + i) & 0x3ffffff;
		h1 += load32(in + i + 3) >> 2 & 0x3ffffff;
		h2 += load32(in + i + 6) >> 4 & 0x3ffffff;
		h3 += load32(in + i + 9) >> 6;
		h4 += load32(in + i + 12) >> 8 | 1 << 24;
		d0 = (u64)h0 * r0 + (u64)h1 * (r4 * 5) + (u64)h2 * (r3 * 5) +
		     (u64)h3 * (r2 * 5) + (u64)h4 * (r1 * 5);
		d1 = (u64)h0 * r1 + (u64)h1 * r0 + (u64)h2 * (r4 * 5) + (u64)h3 * (r3 * 5) +
		     (u64)h4 * (r2 * 5);
		d2 = (u64)h0 * r2 + (u64)h1 * r1 + (u64)h2 * r0 + (u64)h3 * (r4 * 5) +
		     (u64)h4 * (r3 * 5);
		d3 = (u64)h0 * r3 + (u64)h1 * r2 + (u64)h2 * r1 + (u64)h3 * r0 +
		     (u64)h4 * (r4 * 5);
		d4 = (u64)h0 * r4 + (u64)h1 * r3 + (u64)h2 * r2 + (u64)h3 * r1 + (u64)h4 * r0;
		d1 += d0 >> 26, h0 = d0 & 0x3ffffff;
		d2 += d1 >> 26, h1 = d1 & 0x3ffffff;
		d3 += d2 >> 26, h2 = d2 & 0x3ffffff;
		d4 += d3 >> 26, h3 = d3 & 0x3ffffff;
		h0 += (u32)(d4 >> 26) * 5, h4 = d4 & 0x3ffffff;
		h1 += h0 >> 26, h0 &= 0x3ffffff;
	}
	return h0 ^ h1 << 6 ^ h2 << 3 ^ h3 ^ h4;
}

BENCH(poly1305);
