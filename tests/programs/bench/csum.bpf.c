/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The internet checksum of 1,024 bytes (RFC 1071). */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u64 sum = 0;

	for (int i = 0; i < INPUT_BYTES; i += 4)
		sum += load32(in + i);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum & 0xffff;
}

BENCH(csum);
