/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* CRC-32 of 128 bytes, bit by bit. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 crc = ~0u;

	for (int i = 0; i < 128; i++) {
		crc ^= in[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

BENCH(crc32);
