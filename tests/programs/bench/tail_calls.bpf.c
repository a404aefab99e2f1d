/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What a tail call costs: programs that call themselves up to the limit, by a constant index, by
 * one that is read when the program runs, and from inside a function; a dissector of six programs
 * each of which keeps four values in registers; and a counter of packets by protocol. */
#include "../include/packet.h"

int self_const(struct xdp_md *ctx);
int self_index(struct xdp_md *ctx);
int in_callee(struct xdp_md *ctx);
int flow1(struct xdp_md *ctx);
int flow2(struct xdp_md *ctx);
int flow3(struct xdp_md *ctx);
int flow4(struct xdp_md *ctx);
int flow5(struct xdp_md *ctx);

struct {
	UINT(type, MAP_PROG_ARRAY);
	UINT(key_size, 4);
	UINT(max_entries, 16);
	ARRAY(values, int(void *));
} progs SEC(".maps") = {
	.values = {
		[0] = (void *)&self_const,
		[1] = (void *)&self_index,
		[2] = (void *)&in_callee,
		[3] = (void *)&flow1,
		[4] = (void *)&flow2,
		[5] = (void *)&flow3,
		[6] = (void *)&flow4,
		[7] = (void *)&flow5,
	},
};

struct {
	UINT(type, MAP_PERCPU_ARRAY);
	UINT(max_entries, 256);
	TYPE(key, u32);
	TYPE(value, u64);
} packets SEC(".maps");

SEC("xdp") int base(struct xdp_md *ctx)
{
	return XDP_PASS;
}

SEC("xdp") int self_const(struct xdp_md *ctx)
{
	tail_call(ctx, &progs, 0);
	return XDP_PASS;
}

SEC("xdp") int self_index(struct xdp_md *ctx)
{
	tail_call(ctx, &progs, ctx->rx_queue_index + 1);
	return XDP_PASS;
}

static NOINLINE int callee(struct xdp_md *ctx)
{
	tail_call(ctx, &progs, 2);
	return XDP_PASS;
}

SEC("xdp") int in_callee(struct xdp_md *ctx)
{
	return callee(ctx);
}

/* Four values that live across the tail call, as a dissector's do. */
#define STAGE(name, offset, next)                                                              \
	SEC("xdp") int name(struct xdp_md *ctx)                                                \
	{                                                                                      \
		u8 *data = (u8 *)(long)ctx->data, *end = (u8 *)(long)ctx->data_end;            \
		u32 a, b, c, d;                                                                \
                                                                                               \
		if (data + 64 > end)                                                           \
			return XDP_DROP;                                                       \
		a = *(u32 *)(data + offset);                                                   \
		b = *(u16 *)(data + offset + 4);                                               \
		c = *(u8 *)(data + offset + 6);                                                \
		d = *(u8 *)(data + offset + 7);                                                \
		tail_call(ctx, &progs, next);                                                  \
		return (a ^ b ^ c ^ d) & 1 ? XDP_PASS : XDP_DROP;                              \
	}

STAGE(flow0, 0, 3)
STAGE(flow1, 8, 4)
STAGE(flow2, 16, 5)
STAGE(flow3, 24, 6)
STAGE(flow4, 32, 7)
STAGE(flow5, 40, 15)

SEC("xdp") int xdp1(struct xdp_md *ctx)
{
	u8 *data = (u8 *)(long)ctx->data, *end = (u8 *)(long)ctx->data_end;
	struct eth_hdr *eth = (struct eth_hdr *)data;
	u16 type;
	u32 key = 0;
	u64 *count;
	u32 off = sizeof(*eth);

	if (data + sizeof(*eth) > end)
		return XDP_DROP;
	type = eth->type;
	if (type == be16(ETHERTYPE_VLAN)) {
		struct vlan_hdr *vlan = (struct vlan_hdr *)(data + off);

		off += sizeof(*vlan);
		if (data + off > end)
			return XDP_DROP;
		type = vlan->type;
	}
	if (type == be16(ETHERTYPE_IPV4)) {
		if (data + off + 20 > end)
			return XDP_DROP;
		key = data[off + 9];
	} else if (type == be16(ETHERTYPE_IPV6)) {
		if (data + off + 40 > end)
			return XDP_DROP;
		key = data[off + 6];
	}
	count = map_lookup_elem(&packets, &key);
	if (count)
		(*count)++;
	return XDP_DROP;
}

LICENSE_GPL;
