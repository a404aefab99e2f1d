/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Walks the extension headers of 8 IPv6 packets up to TCP, UDP or ICMP. */
#include "bench.h"

u8 bench_packet[128] __attribute__((visibility("hidden"))) = { 1 };

enum { HOP = 0, TCP = 6, UDP = 17, ROUTING = 43, FRAGMENT = 44, AUTH = 51, ICMP6 = 58, DEST = 60 };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	const u8 kinds[8] = { HOP, ROUTING, FRAGMENT, AUTH, DEST, TCP, UDP, ICMP6 };
	u32 sum = 0;

	for (int i = 0; i < 8; i++) {
		u32 at = 40, next = kinds[in[i] & 3], seen = 0, ports = 0;

		for (int k = 0; k < 128; k += 8)
			*(u64 *)(bench_packet + k) = load64(in + 128 * i + k);
		for (int k = 40; k < 104; k += 8) {
			bench_packet[k] = kinds[bench_packet[k] & 7];
			bench_packet[k + 1] &= 1;
		}

		for (int n = 0; n < 6; n++) {
			const u8 *header = bench_packet + (at & 120);

			if (next == HOP || next == ROUTING || next == DEST) {
				next = header[0];
				at += (header[1] + 1) * 8;
			} else if (next == FRAGMENT) {
				u16 offset = header[2] << 8 | header[3];

				seen |= 1 << 8;
				if (offset & 0xfff8)
					break;
				next = header[0];
				at += 8;
			} else if (next == AUTH) {
				next = header[0];
				at += (header[1] + 2) * 4;
				at = (at + 7) & ~7;
			} else {
				if (next == TCP || next == UDP)
					ports = (u32)header[0] << 24 | header[1] << 16 | header[2] << 8 | header[3];
				else if (next == ICMP6)
					ports = header[0] << 8 | header[1];
				break;
			}
			seen++;
		}
		sum = sum * 33 + ports + seen + at + next;
	}
	return sum;
}

BENCH(ipv6ext);
