/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A CRC of 64 bits of 256 bytes, by a table of 16 that is made first. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u64 table[16], crc = ~0ull;

	for (u32 i = 0; i < 16; i++) {
		u64 c = i;

		for (int bit = 0; bit < 4; bit++)
			c = c & 1 ? c >> 1 ^ 0xc96c5795d7870f42 : c >> 1;
		table[i] = c;
	}
	for (int i = 0; i < 256; i++) {
		crc ^= in[i];
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	crc = ~crc;
	return crc ^ crc >> 32;
}

BENCH(crc64);
