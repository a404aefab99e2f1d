/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Copies 7 packets with a VLAN tag that is pushed, popped or changed; the time to live goes down. */
#include "bench.h"

struct eth {
	u8 to[6];
	u8 from[6];
	u16 proto;
} __attribute__((packed));

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = 0;

	for (int i = 0; i < 7; i++) {
		const u8 *packet = in + 128 * i, *ip = packet + 14;
		u8 *out = scratch + 128 * i, *at = out + 14;
		const struct eth *eth = (const struct eth *)packet;
		struct eth *copy = (struct eth *)out;

		for (int k = 0; k < 6; k++) {
			copy->to[k] = eth->from[k];
			copy->from[k] = eth->to[k];
		}
		copy->proto = eth->proto;
		if (eth->proto == 0x0081) {
			u16 tag = packet[14] << 8 | packet[15];

			ip = packet + 18;
			if ((tag & 0xfff) < 1024) {
				*(u16 *)(out + 12) = *(const u16 *)(packet + 16);
			} else {
				out[14] = (tag & 0xf0ff) >> 8;
				out[15] = 7;
				out[16] = packet[16];
				out[17] = packet[17];
				at = out + 18;
			}
		} else if (packet[14] & 1) {
			copy->proto = 0x0081;
			out[14] = 0;
			out[15] = 42;
			out[16] = packet[12];
			out[17] = packet[13];
			at = out + 18;
		}
		for (int k = 0; k < 20; k += 4)
			*(u32 *)(at + k) = *(const u32 *)(ip + k);
		if (ip[8] > 1) {
			u32 check = ip[10] << 8 | ip[11];

			at[8] = ip[8] - 1;
			check += 0x100;
			check = (check & 0xffff) + (check >> 16);
			at[10] = check >> 8;
			at[11] = check;
		}
		sum = sum * 17 + load32(out + 12) + load32(at + 8);
	}
	return sum;
}

BENCH(vlan);
