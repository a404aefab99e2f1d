/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* stress_parser.bpf.c, mended as docs/profile.md tells: an option is read by a global function, which is
 * verified once, and whose result is any number. */
#include "../include/packet.h"

enum { OPT_END, OPT_NOP, OPT_MSS, OPT_WSCALE, OPT_SACK_OK, OPT_SACK, OPT_TIMESTAMP = 8 };

struct found {
	u32 seen, vlan, ttl, window, mss, wscale, blocks, tsval, tsecr;
};

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 1024);
	TYPE(key, struct found);
	TYPE(value, u64);
} fingerprints SEC(".maps");

/* No offset of an option is that small or that large. */
enum { MALFORMED, END = 4096 };

/* Reads the option at `off`, and says where the next one begins. */
NOINLINE u32 option(struct xdp_md *ctx, u32 off, struct found *found)
{
	u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	u8 *opt = data + (off & 127);
	u32 size;

	if (!found || opt + 12 > end)
		return END;
	if (opt[0] == OPT_END)
		return END;
	if (opt[0] == OPT_NOP)
		return off + 1;
	size = opt[1];
	if (size < 2)
		return MALFORMED;
	switch (opt[0]) {
	case OPT_MSS:
		if (size != 4)
			return MALFORMED;
		found->seen |= 1;
		found->mss = opt[2] << 8 | opt[3];
		break;
	case OPT_WSCALE:
		if (size != 3)
			return MALFORMED;
		found->seen |= 2;
		found->wscale = opt[2] < 14 ? opt[2] : 14;
		break;
	case OPT_SACK_OK:
		found->seen |= 4;
		break;
	case OPT_SACK:
		found->seen |= 8;
		found->blocks = (size - 2) / 8;
		break;
	case OPT_TIMESTAMP:
		if (size != 10)
			return MALFORMED;
		found->seen |= 16;
		found->tsval = be32(*(u32 *)(opt + 2));
		found->tsecr = be32(*(u32 *)(opt + 6));
		break;
	}
	return off + size;
}

SEC("xdp")
int parser(struct xdp_md *ctx)
{
	u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct eth_hdr *eth = (void *)data;
	struct found found = {};
	struct tcp_hdr *tcp;
	u32 off = sizeof(*eth), len;
	u16 type;
	u64 *count, one = 1;
	u8 proto;

	if (data + 82 > end)
		return XDP_DROP;
	type = eth->type;
	if (type == be16(ETHERTYPE_VLAN)) {
		struct vlan_hdr *vlan = (void *)(data + off);

		found.vlan = be16(vlan->tci) & 4095;
		type = vlan->type;
		off += sizeof(*vlan);
	}
	if (type == be16(ETHERTYPE_IPV4)) {
		struct ipv4_hdr *ip = (void *)(data + off);

		if (ip->version_ihl != 0x45 || ip->frag_off & be16(0x1fff))
			return XDP_PASS;
		found.ttl = ip->ttl;
		proto = ip->proto;
		off += sizeof(*ip);
	} else if (type == be16(ETHERTYPE_IPV6)) {
		struct ipv6_hdr *ip = (void *)(data + off);

		found.ttl = ip->hop_limit;
		proto = ip->next;
		off += sizeof(*ip);
	} else {
		return XDP_PASS;
	}
	if (proto != PROTO_TCP)
		return XDP_PASS;
	tcp = (void *)(data + off);
	len = (be16(tcp->offset_flags) >> 12) * 4;
	if (len < sizeof(*tcp))
		return XDP_DROP;
	found.window = be16(tcp->window);
	len += off;
	off += sizeof(*tcp);
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < 9 && off < len; i++) {
		off = option(ctx, off, &found);
		if (off == MALFORMED)
			return XDP_DROP;
	}
	count = map_lookup_elem(&fingerprints, &found);
	if (!count) {
		map_update_elem(&fingerprints, &found, &one, MAP_NOEXIST);
		return XDP_PASS;
	}
	if (*count > 1000000)
		return XDP_DROP;
	*count += 1;
	return XDP_PASS;
}

LICENSE_GPL;
