/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Fletcher's checksum of 480 bytes, and the two bytes that make it 0. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 low = 0, high = 0, first, second;

	for (int i = 0; i < 480; i += 20) {
		for (int j = 0; j < 20; j++) {
			low += in[i + j];
			high += low;
		}
		low = (low & 255) + (low >> 8);
		high = (high & 255) + (high >> 8);
	}
	low %= 255;
	high %= 255;
	first = 255 - (low + high) % 255;
	second = 255 - (low + first) % 255;
	return high << 24 | low << 16 | first << 8 | second;
}

BENCH(fletcher);
