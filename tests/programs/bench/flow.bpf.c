/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * A dissector of flows as a chain of six programs: Ethernet, VLAN, IPv4, UDP, the flow, the verdict.
 * What is known of the packet waits in a map; each program has its context and three values at hand
 * across its calls, so that all registers that are saved for the caller are in use.
 */
#include "../include/packet.h"

enum { ETH, VLAN, IPV4, UDP, FLOW, VERDICT, STAGES };
enum { FLOWS = 1024 };

int parse_vlan(struct xdp_md *ctx);
int parse_ipv4(struct xdp_md *ctx);
int parse_udp(struct xdp_md *ctx);
int find_flow(struct xdp_md *ctx);
int verdict(struct xdp_md *ctx);

struct {
	UINT(type, MAP_PROG_ARRAY);
	UINT(key_size, 4);
	UINT(max_entries, STAGES);
	ARRAY(values, int(void *));
} stages SEC(".maps") = {
	.values = {
		[VLAN] = (void *)&parse_vlan,
		[IPV4] = (void *)&parse_ipv4,
		[UDP] = (void *)&parse_udp,
		[FLOW] = (void *)&find_flow,
		[VERDICT] = (void *)&verdict,
	},
};

/* What is known so far. */
struct keys {
	u16 offset;
	u16 type;
	u16 vlan;
	u8 proto;
	u8 ttl;
	u32 src, dst;
	u32 ports;
	u32 len;
	u32 flow;
};

struct {
	UINT(type, MAP_PERCPU_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct keys);
} known SEC(".maps");

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, FLOWS);
	TYPE(key, u32);
	TYPE(value, u64);
} flows SEC(".maps");

INLINE struct keys *keys_of_run(void)
{
	u32 zero = 0;

	return map_lookup_elem(&known, &zero);
}

/* The header at `offset`, or 0 where the packet ends before it does. */
INLINE void *header_at(struct xdp_md *ctx, u32 offset, u32 len)
{
	u8 *data = (u8 *)(long)ctx->data, *end = (u8 *)(long)ctx->data_end;

	if (offset > 128)
		return 0;
	data += offset;
	return data + len > end ? 0 : data;
}

SEC("xdp") int parse_eth(struct xdp_md *ctx)
{
	struct eth_hdr *eth = header_at(ctx, 0, sizeof(*eth));
	u16 type;
	u32 dst, src;
	struct keys *keys;

	if (!eth)
		return XDP_DROP;
	type = eth->type;
	dst = *(u32 *)eth->dst;
	src = *(u32 *)eth->src;
	keys = keys_of_run();
	if (!keys)
		return XDP_ABORTED;
	keys->offset = sizeof(*eth);
	keys->type = type;
	keys->vlan = 0;
	keys->flow = dst ^ src;
	if (type == be16(ETHERTYPE_VLAN))
		tail_call(ctx, &stages, VLAN);
	else
		tail_call(ctx, &stages, IPV4);
	/* Ends here where the chain is not whole. */
	return (dst ^ src ^ type) & 1 ? XDP_ABORTED : XDP_DROP;
}

SEC("xdp") int parse_vlan(struct xdp_md *ctx)
{
	struct keys *keys = keys_of_run();
	struct vlan_hdr *vlan;
	u32 offset, tci, type;

	if (!keys)
		return XDP_ABORTED;
	offset = keys->offset;
	vlan = header_at(ctx, offset, sizeof(*vlan));
	if (!vlan)
		return XDP_DROP;
	tci = be16(vlan->tci);
	type = vlan->type;
	keys->vlan = tci & 0xfff;
	keys->type = type;
	keys->offset = offset + sizeof(*vlan);
	tail_call(ctx, &stages, IPV4);
	return (offset ^ tci ^ type) & 1 ? XDP_ABORTED : XDP_DROP;
}

SEC("xdp") int parse_ipv4(struct xdp_md *ctx)
{
	struct keys *keys = keys_of_run();
	struct ipv4_hdr *ip;
	u32 offset, header_len, len;

	if (!keys || keys->type != be16(ETHERTYPE_IPV4))
		return XDP_PASS;
	offset = keys->offset;
	ip = header_at(ctx, offset, sizeof(*ip));
	if (!ip)
		return XDP_DROP;
	header_len = (ip->version_ihl & 15) * 4;
	len = be16(ip->total_len);
	if (ip->version_ihl >> 4 != 4 || header_len < sizeof(*ip) || len < header_len)
		return XDP_DROP;
	keys->src = ip->src;
	keys->dst = ip->dst;
	keys->proto = ip->proto;
	keys->ttl = ip->ttl;
	keys->len = len - header_len;
	keys->offset = offset + header_len;
	tail_call(ctx, &stages, UDP);
	return (offset ^ header_len ^ len) & 1 ? XDP_ABORTED : XDP_DROP;
}

SEC("xdp") int parse_udp(struct xdp_md *ctx)
{
	struct keys *keys = keys_of_run();
	struct udp_hdr *udp;
	u32 offset, ports, len;

	if (!keys || keys->proto != PROTO_UDP)
		return XDP_PASS;
	offset = keys->offset;
	udp = header_at(ctx, offset, sizeof(*udp));
	if (!udp)
		return XDP_DROP;
	ports = (u32)be16(udp->src) << 16 | be16(udp->dst);
	len = be16(udp->len);
	if (len < sizeof(*udp) || len > keys->len)
		return XDP_DROP;
	keys->ports = ports;
	tail_call(ctx, &stages, FLOW);
	return (offset ^ ports ^ len) & 1 ? XDP_ABORTED : XDP_DROP;
}

SEC("xdp") int find_flow(struct xdp_md *ctx)
{
	struct keys *keys = keys_of_run();
	u32 hash, bytes, flow;
	u64 *count;

	if (!keys)
		return XDP_ABORTED;
	bytes = keys->len;
	hash = (keys->src ^ keys->ports) * 0x9e3779b1u;
	hash = (hash ^ keys->dst ^ keys->vlan ^ keys->proto) * 0x85ebca77u;
	hash ^= hash >> 15;
	flow = hash & (FLOWS - 1);
	keys->flow = flow;
	count = map_lookup_elem(&flows, &flow);
	if (count)
		*count += bytes;
	tail_call(ctx, &stages, VERDICT);
	return (hash ^ bytes) & 1 ? XDP_ABORTED : XDP_DROP;
}

SEC("xdp") int verdict(struct xdp_md *ctx)
{
	struct keys *keys = keys_of_run();

	if (!keys || keys->ttl < 2)
		return XDP_DROP;
	return keys->ports & 0xffff ? XDP_TX : XDP_PASS;
}

LICENSE_GPL;
