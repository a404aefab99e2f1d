/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Numbers of 7 bits a byte, 256 bytes of them. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u64 value = 0, sum = 0;
	u32 shift = 0, count = 0;

	for (int i = 0; i < 256; i++) {
		u64 byte = in[i];

		value |= (byte & 0x7f) << (shift & 63);
		if (byte & 0x80) {
			shift += 7;
		} else {
			sum += value ^ count++;
			value = 0;
			shift = 0;
		}
	}
	return sum ^ sum >> 32 ^ count;
}

BENCH(varint);
