/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* CRC-16 of 256 bytes by a table of 16 entries on the stack. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u16 table[16];
	u16 crc = 0xffff;

	for (u32 i = 0; i < 16; i++) {
		u32 value = i << 12;

		for (int bit = 0; bit < 4; bit++)
			value = value << 1 ^ (value & 0x8000 ? 0x1021 : 0);
		table[i] = value;
	}
	for (int i = 0; i < 256; i++) {
		crc = crc << 4 ^ table[(crc >> 12 ^ in[i] >> 4) & 15];
		crc = crc << 4 ^ table[(crc >> 12 ^ in[i]) & 15];
	}
	return crc;
}

BENCH(crc16);
