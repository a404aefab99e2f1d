/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Looks through tunnels of up to 3 headers in 8 packets. */
#include "bench.h"

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = 0;

	for (int i = 0; i < 8; i++) {
		const u8 *packet = in + 128 * i;
		u32 type = packet[12] << 8 | packet[13], tags = 0, kind = 0, len = 0;

		if (type == 0x8100) {
			type = packet[16] << 8 | packet[17];
			packet += 4;
			tags = 1;
		}
		if (type == 0x86dd) {
			kind = packet[14 + 6];
			len = 40;
		} else if (type == 0x0800) {
			kind = packet[14 + 9];
			len = (packet[14] & 15) * 4;
		}
		switch (kind) {
		case 6:
			sum += packet[14 + 20 + 13];
			break;
		case 17:
			sum += (packet[14 + 20 + 2] << 8 | packet[14 + 20 + 3]) == 4789 ? 7 : 3;
			break;
		case 47:
			sum += packet[14 + 20 + 2];
			break;
		default:
			sum ^= type;
		}
		sum = sum * 5 + tags + len;
	}
	return sum;
}

BENCH(tunnel);
