/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The programs of ../bounds.bpf.c with the lines that their helps ask for. Accepted. Built with the
 * flags of tests/programs/build.sh. */
#include "../../../programs/include/packet.h"

u32 places[64];
u32 limit;

SEC("xdp")
int turned_round(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ipv4_hdr *ip = data + sizeof(struct eth_hdr);

	if (data + sizeof(struct eth_hdr) + sizeof(*ip) > end)
		return XDP_PASS;
	return ip->ttl > 3 ? XDP_PASS : XDP_DROP;
}

SEC("xdp")
int header_length(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ipv4_hdr *ip = data;
	struct udp_hdr *udp;

	if ((void *)(ip + 1) > end)
		return XDP_PASS;
	udp = data + (ip->version_ihl & 15) * 4;
	if ((void *)(udp + 1) > end)
		return XDP_PASS;
	return udp->dst == be16(53) ? XDP_DROP : XDP_PASS;
}

SEC("xdp")
int too_far(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	u8 *last = data + (places[0] & 0x7fff);

	if ((void *)(last + 1) > end)
		return XDP_PASS;
	return *last ? XDP_PASS : XDP_DROP;
}

SEC("xdp")
int difference(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	u32 len = end - data;

	if (data + 16 > end || len < 16)
		return XDP_PASS;
	return *(u8 *)data ? XDP_PASS : XDP_DROP;
}

SEC("xdp")
int again(struct xdp_md *ctx)
{
	u8 *data = (void *)(long)ctx->data;

	if ((void *)(data + 16) > (void *)(long)ctx->data_end)
		return XDP_PASS;
	return *data ? XDP_PASS : XDP_DROP;
}

SEC("tc")
int written_since(struct __sk_buff *skb)
{
	u32 at[2] = {};

	skb_load_bytes(skb, 0, at, sizeof(at));
	skb_load_bytes(skb, 8, at, sizeof(at));
	if (at[1] >= 64)
		return 0;
	return places[at[1]];
}

SEC("tc")
int kept_in_map(struct __sk_buff *skb)
{
	u32 at = skb->hash;

	limit = at;
	if (at >= 64)
		return 0;
	return places[at];
}

SEC("tc")
int negative(struct __sk_buff *skb)
{
	s32 at = skb->mark;

	if (at < 0 || at >= 64)
		return 0;
	return places[at];
}

static NOINLINE int bounded(u32 at)
{
	return at > 63 ? 63 : at;
}

SEC("tc")
int of_function(struct __sk_buff *skb)
{
	return places[(u32)bounded(skb->hash)];
}

SEC("tc")
int unchecked(struct __sk_buff *skb)
{
	u32 at = skb->hash + 1;

	if (at >= 64)
		return 0;
	return places[at];
}

NOINLINE int first(u32 *values)
{
	return values ? values[0] : 0;
}

SEC("tc")
int of_argument(struct __sk_buff *skb)
{
	u32 value = skb->hash;

	return first(&value);
}

SEC("cgroup_skb/ingress")
int returned(struct __sk_buff *skb)
{
	if (places[3] == skb->len)
		return 0;
	return skb->mark > 7 ? 0 : 1;
}

SEC("tc")
int lower_half(struct __sk_buff *skb)
{
	u64 at = skb->hash * 2654435761ULL;

	if (at >= 64)
		return 0;
	return places[at];
}

static long each(u32 at, u64 *sum)
{
	if (at >= 64)
		return 1;
	*sum += places[at];
	return 0;
}

SEC("tc")
int in_callback(struct __sk_buff *skb)
{
	u64 sum = 0;

	loop(64, each, &sum, 0);
	return sum & 1;
}

SEC("xdp")
int too_far_by_header(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ipv4_hdr *ip = data + sizeof(struct eth_hdr);
	u16 total;

	if ((void *)(ip + 1) > end)
		return XDP_PASS;
	total = be16(ip->total_len);
	total &= 0x7fff;
	if (!total || (void *)ip + total > end)
		return XDP_PASS;
	return *((u8 *)ip + total - 1) ? XDP_PASS : XDP_DROP;
}

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
	data = (void *)(long)skb->data;
	udp = data + sizeof(struct eth_hdr) + len;
	if ((void *)(udp + 1) > (void *)(long)skb->data_end)
		return 0;
	return udp->dst == be16(53);
}

LICENSE_GPL;
