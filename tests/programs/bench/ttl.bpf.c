/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Forwards 8 packets: time to live, addresses and ports rewritten, checksums updated each time. */
#include "bench.h"

INLINE u16 updated(u16 sum, u16 from, u16 to)
{
	u32 x = (u16)~sum + (u16)~from + to;

	x = (x & 0xffff) + (x >> 16);
	return ~(x + (x >> 16));
}

INLINE u16 updated32(u16 sum, u32 from, u32 to)
{
	return updated(updated(sum, from, to), from >> 16, to >> 16);
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sent = 0, sum = 0;

	for (int n = 0; n < 8; n++) {
		const u8 *ip = in + 128 * n + 18;
		u8 *out = scratch + 64 * n;
		u32 source = load32(ip + 12), dest = load32(ip + 16);
		u16 check = ip[10] << 8 | ip[11], port = ip[20] << 8 | ip[21];
		u16 over = ip[26] << 8 | ip[27], to = 1024 + (source >> 7 & 0x3fff);
		u16 word = ip[8] << 8 | ip[9];

		if (ip[8] <= 1) {
			out[0] = 11;
			continue;
		}
		check = updated(check, word, word - 0x100);
		if ((dest & 0xff) != 10) {
			u32 next = (source & 0xffffff00) | 0x0a;

			check = updated32(check, source, next);
			over = updated32(over, source, next);
			over = updated(over, port, to);
			*(u32 *)(out + 12) = next;
		} else {
			*(u32 *)(out + 12) = source;
		}
		out[8] = ip[8] - 1;
		out[9] = ip[9];
		out[10] = check >> 8;
		out[11] = check;
		out[20] = to >> 8;
		out[21] = to;
		out[26] = over >> 8;
		out[27] = over;
		sent++;
		sum = sum * 33 + check + over;
	}
	return sum ^ sent << 24;
}

BENCH(ttl);
