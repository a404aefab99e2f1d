/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* XDP: walks Ethernet, up to two VLAN tags, IPv4 with options or IPv6, then TCP or UDP, with a
 * bounds check before each header; the destination port decides. */
#include "include/packet.h"

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 1024);
	TYPE(key, u16);
	TYPE(value, u32);
} blocked_ports SEC(".maps");

struct cursor {
	void *pos;
	void *end;
};

INLINE void *take(struct cursor *cur, u32 len)
{
	void *head = cur->pos;

	if (head + len > cur->end)
		return 0;
	cur->pos = head + len;
	return head;
}

INLINE int dest_port(struct cursor *cur, u8 proto, u16 *port)
{
	if (proto == PROTO_TCP) {
		struct tcp_hdr *tcp = take(cur, sizeof(*tcp));

		if (!tcp)
			return -1;
		*port = be16(tcp->dst);
		return 0;
	}
	if (proto == PROTO_UDP) {
		struct udp_hdr *udp = take(cur, sizeof(*udp));

		if (!udp)
			return -1;
		*port = be16(udp->dst);
		return 0;
	}
	return -1;
}

SEC("xdp")
int xdp_parse(struct xdp_md *ctx)
{
	struct cursor cur = {(void *)(long)ctx->data, (void *)(long)ctx->data_end};
	struct eth_hdr *eth = take(&cur, sizeof(*eth));
	u32 *drop;
	u16 type, port = 0;
	u8 proto;

	if (!eth)
		return XDP_DROP;
	type = eth->type;
#pragma unroll
	for (int i = 0; i < 2; i++) {
		if (type == be16(ETHERTYPE_VLAN)) {
			struct vlan_hdr *vlan = take(&cur, sizeof(*vlan));

			if (!vlan)
				return XDP_DROP;
			type = vlan->type;
		}
	}
	if (type == be16(ETHERTYPE_IPV4)) {
		struct ipv4_hdr *ip = take(&cur, sizeof(*ip));
		u32 options;

		if (!ip)
			return XDP_DROP;
		options = (ip->version_ihl & 15) * 4;
		if (options < sizeof(*ip))
			return XDP_DROP;
		options -= sizeof(*ip);
		proto = ip->proto;
		if (!take(&cur, options))
			return XDP_DROP;
	} else if (type == be16(ETHERTYPE_IPV6)) {
		struct ipv6_hdr *ip = take(&cur, sizeof(*ip));

		if (!ip)
			return XDP_DROP;
		proto = ip->next;
	} else {
		return XDP_PASS;
	}
	if (dest_port(&cur, proto, &port))
		return XDP_PASS;
	drop = map_lookup_elem(&blocked_ports, &port);
	return drop && *drop ? XDP_DROP : XDP_PASS;
}

LICENSE_GPL;
