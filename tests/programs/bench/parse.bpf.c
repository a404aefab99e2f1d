/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Ethernet, VLAN, IPv4 or IPv6, TCP or UDP with options: 8 packets of 128 bytes. */
#include "bench.h"

INLINE u16 be16_at(const u8 *p)
{
	return p[0] << 8 | p[1];
}

INLINE u32 flow_of(const u8 *p)
{
	u32 off = 12, proto, hash;
	u16 type = be16_at(p + 12);

	if (type == 0x8100) {
		off = 16;
		type = be16_at(p + 16);
	}
	p += off;
	if (type == 0x0800) {
		u32 ihl = p[2] & 15;

		if (p[2] >> 4 != 4 || ihl < 5)
			return 1;
		proto = p[11];
		hash = load32_be(p + 14) ^ rotl32(load32_be(p + 18), 7);
		p += ihl > 5 ? 26 : 22;
	} else if (type == 0x86dd) {
		proto = p[8];
		hash = load32_be(p + 10) ^ load32_be(p + 22) ^ load32_be(p + 26) ^
		       load32_be(p + 38);
		p += 42;
	} else {
		return 2;
	}
	if (proto == 6)
		return hash ^ load32_be(p) ^ (p[13] & 0x17);
	if (proto == 17)
		return hash ^ load32_be(p) ^ be16_at(p + 4);
	return hash;
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 flows = 0;

	for (int i = 0; i < 8; i++)
		flows = rotl32(flows, 3) + flow_of(in + 128 * i);
	return flows;
}

BENCH(parse);
