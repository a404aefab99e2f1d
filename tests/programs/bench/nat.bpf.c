/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Rewrites addresses and ports of 8 packets, with their checksums. */
#include "bench.h"

INLINE u16 changed(u16 sum, u32 from, u32 to)
{
	u32 s = (u16)~sum;

	s += (u16)~from + (u16)(~from >> 16) + (u16)to + (u16)(to >> 16);
	s = (s & 0xffff) + (s >> 16);
	s = (s & 0xffff) + (s >> 16);
	return ~s;
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = 0;

	for (int i = 0; i < 8; i++) {
		const u8 *ip = in + 128 * i + 14;
		u8 *out = scratch + 64 * i;
		u32 from = load32(ip + 12), to = load32(ip + 16);
		u16 port = *(const u16 *)(ip + 20), check = *(const u16 *)(ip + 10);

		if (ip[9] != 6 && ip[9] != 17) {
			sum ^= ip[9];
			continue;
		}
		if ((to & 0xff) == 10)
			to = 0x0100a8c0 | (to & 0xf0) << 24;
		*(u32 *)(out + 16) = to;
		*(u16 *)(out + 10) = changed(check, load32(ip + 16), to);
		*(u16 *)(out + 20) = (u16)(port + (from >> 24)) | 1024;
		out[8] = ip[8] - 1;
		sum += load32(out + 16) ^ *(u16 *)(out + 10) ^ *(u16 *)(out + 20) << 8;
	}
	return sum;
}

BENCH(nat);
