/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* 8 packets against 16 rules of addresses, ports and protocols. */
#include "bench.h"

struct rule {
	u32 net, mask;
	u16 low, high;
	u8 proto, action;
};
struct rule bench_rules[16] __attribute__((visibility("hidden"))) = {
	{ 0x0a000000, 0xff000000, 0, 1023, 6, 1 }, { 0xc0a80000, 0xffff0000, 0, 65535, 17, 2 },
	{ 0x80000000, 0xc0000000, 1000, 9000, 6, 3 }, { 0x40000000, 0xe0000000, 80, 80, 0, 4 },
	{ 0x20000000, 0xf0000000, 443, 443, 6, 5 }, { 0x30000000, 0xf0000000, 0, 40000, 17, 6 },
	{ 0x10000000, 0xf8000000, 53, 53, 17, 7 }, { 0xe0000000, 0xf0000000, 0, 65535, 0, 8 },
	{ 0x50000000, 0xf0000000, 0, 30000, 6, 9 }, { 0x60000000, 0xf0000000, 0, 65535, 17, 10 },
	{ 0x70000000, 0xf0000000, 20000, 65535, 6, 11 }, { 0xd0000000, 0xf0000000, 0, 65535, 6, 12 },
	{ 0xf0000000, 0xf0000000, 0, 65535, 0, 13 }, { 0x00000000, 0x80000000, 0, 32767, 0, 14 },
	{ 0x80000000, 0x80000000, 0, 50000, 0, 15 }, { 0, 0, 0, 65535, 0, 16 },
};

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = 0;

	for (int i = 0; i < 8; i++) {
		const u8 *ip = in + 128 * i + 14;
		u32 to = load32_be(ip + 16), port = ip[22] << 8 | ip[23], proto = ip[9];

		for (u32 r = 0; r < 16; r++) {
			struct rule *rule = &bench_rules[r];

			if ((to & rule->mask) != rule->net || port < rule->low ||
			    port > rule->high)
				continue;
			if (rule->proto && rule->proto != proto)
				continue;
			sum = sum * 17 + rule->action;
			break;
		}
	}
	return sum;
}

BENCH(acl);
