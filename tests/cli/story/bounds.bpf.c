/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Refused: a check is there, but not of what is used. Built with the flags of
 * tests/programs/build.sh. */
#include "../../programs/include/packet.h"

u32 places[64];
u32 limit;

/* The branch that goes on is that of packets that are too short. */
SEC("xdp")
int turned_round(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ipv4_hdr *ip = data + sizeof(struct eth_hdr);

	if (data + sizeof(struct eth_hdr) + sizeof(*ip) < end)
		return XDP_PASS;
	return ip->ttl > 3 ? XDP_PASS : XDP_DROP;
}

/* Nothing is compared after the length of the header was added. */
SEC("xdp")
int header_length(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ipv4_hdr *ip = data;
	struct udp_hdr *udp;

	if ((void *)(ip + 1) > end)
		return XDP_PASS;
	udp = data + (ip->version_ihl & 15) * 4;
	return udp->dst == be16(53) ? XDP_DROP : XDP_PASS;
}

/* More than 65,535 bytes are behind every packet. */
SEC("xdp")
int too_far(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	u8 *last = data + (places[0] & 0x1ffff);

	if ((void *)(last + 1) > end)
		return XDP_PASS;
	return *last ? XDP_PASS : XDP_DROP;
}

/* The length is compared, not the pointer. */
SEC("xdp")
int difference(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	u32 len = end - data;

	if (len < 16)
		return XDP_PASS;
	return *(u8 *)data ? XDP_PASS : XDP_DROP;
}

static NOINLINE int is_long(struct xdp_md *ctx)
{
	return (void *)(long)ctx->data + 16 <= (void *)(long)ctx->data_end;
}

/* The packet is read from the context again. */
SEC("xdp")
int again(struct xdp_md *ctx)
{
	if (!is_long(ctx))
		return XDP_PASS;
	return *(u8 *)(long)ctx->data ? XDP_PASS : XDP_DROP;
}

/* A helper may write what was compared. */
SEC("tc")
int written_since(struct __sk_buff *skb)
{
	u32 at[2] = {};

	skb_load_bytes(skb, 0, at, sizeof(at));
	if (at[1] >= 64)
		return 0;
	skb_load_bytes(skb, 8, at, sizeof(at));
	return places[at[1]];
}

/* Memory is not followed. */
SEC("tc")
int kept_in_map(struct __sk_buff *skb)
{
	limit = skb->hash;
	if (limit >= 64)
		return 0;
	return places[*(volatile u32 *)&limit];
}

/* -1 is less than 64. */
SEC("tc")
int negative(struct __sk_buff *skb)
{
	s32 at = skb->mark;

	if (at >= 64)
		at = 63;
	return places[at];
}

NOINLINE int bounded(u32 at)
{
	return at > 63 ? 63 : at;
}

/* Of a global function nothing is known but its prototype. */
SEC("tc")
int of_function(struct __sk_buff *skb)
{
	return places[(u32)bounded(skb->hash)];
}

/* Nothing is compared at all. */
SEC("tc")
int unchecked(struct __sk_buff *skb)
{
	return places[skb->hash + 1];
}

NOINLINE int first(u32 *values)
{
	return values[0];
}

/* A global function is given NULL, too. */
SEC("tc")
int of_argument(struct __sk_buff *skb)
{
	u32 value = skb->hash;

	return first(&value);
}

/* Which return is meant. */
SEC("cgroup_skb/ingress")
int returned(struct __sk_buff *skb)
{
	if (places[3] == skb->len)
		return -1;
	return skb->mark > 7 ? 0 : 1;
}

/* Half of a number is compared. */
SEC("tc")
int lower_half(struct __sk_buff *skb)
{
	u64 at = skb->hash * 2654435761ULL;

	if ((u32)at >= 64)
		return 0;
	return places[at];
}

static long each(u32 at, u64 *sum)
{
	*sum += places[at];
	return 0;
}

/* What bpf_loop() counts to is not known in the callback. */
SEC("tc")
int in_callback(struct __sk_buff *skb)
{
	u64 sum = 0;

	loop(64, each, &sum, 0);
	return sum & 1;
}

/* The sum is within 65,535, the place behind the header is not. */
SEC("xdp")
int too_far_by_header(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ipv4_hdr *ip = data + sizeof(struct eth_hdr);
	u16 total;

	if ((void *)(ip + 1) > end)
		return XDP_PASS;
	total = be16(ip->total_len);
	if ((void *)ip + total > end)
		return XDP_PASS;
	return *((u8 *)ip + total - 1) ? XDP_PASS : XDP_DROP;
}

/* The pointer is moved after it was lost. */
SEC("tc")
int moved_after(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct ipv4_hdr *ip = data + sizeof(struct eth_hdr);
	struct udp_hdr *udp;
	u32 len;

	if ((void *)(ip + 1) > end)
		return 0;
	len = (ip->version_ihl & 15) * 4;
	if (skb_change_head(skb, 0, 0))
		return 0;
	udp = (void *)ip + len;
	if ((void *)(udp + 1) > (void *)(long)skb->data_end)
		return 0;
	return udp->dst == be16(53);
}

LICENSE_GPL;
