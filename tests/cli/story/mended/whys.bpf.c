/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The programs of ../whys.bpf.c, with the change that its help names. */
#include "../../../programs/include/packet.h"

struct bpf_dynptr {
	u64 opaque[2];
} __attribute__((aligned(8)));

static long (*const dynptr_from_mem)(void *data, u32 size, u64 flags,
				     struct bpf_dynptr *ptr) = (void *)197;
static long (*const dynptr_read)(void *dst, u32 len, const struct bpf_dynptr *src, u32 offset,
				 u64 flags) = (void *)201;

struct kept {
	u64 when;
	u64 what;
};

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 16);
	TYPE(key, u32);
	TYPE(value, struct kept);
} kept_by_key SEC(".maps");

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} events SEC(".maps");

char room[64];
u8 shares[64];

SEC("tc")
int past_the_array(struct __sk_buff *skb)
{
	char name[8], other[8] = "swapper";

	get_current_comm(name, sizeof(name));
	for (int i = 0; i < 8; i++)
		if (name[i] != other[i])
			return 0;
	return 1;
}

SEC("xdp")
int context_of_others(struct xdp_md *ctx)
{
	return ctx->data_end - ctx->data > 64 ? XDP_DROP : XDP_PASS;
}

SEC("tc")
int dynptr_in_map(struct __sk_buff *skb)
{
	struct bpf_dynptr ptr;
	struct kept kept = {};
	u32 key = 0;

	kept.when = ktime_get_ns();
	dynptr_from_mem(room, sizeof(room), 0, &ptr);
	dynptr_read(&kept.what, sizeof(kept.what), &ptr, 0, 0);
	map_update_elem(&kept_by_key, &key, &kept, 0);
	return 0;
}

SEC("xdp")
int one_byte_less(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct eth_hdr *eth = data;
	struct ipv4_hdr *ip = (void *)(eth + 1);

	if ((void *)(eth + 1) > end)
		return XDP_PASS;
	if ((void *)(ip + 1) > end)
		return XDP_PASS;
	return ip->dst == 0 ? XDP_DROP : XDP_PASS;
}

SEC("xdp")
int after_equality(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct eth_hdr *eth = data;
	struct ipv4_hdr *ip = (void *)(eth + 1);

	if ((void *)(eth + 1) > end)
		return XDP_PASS;
	if (eth->type != be16(ETHERTYPE_IPV4))
		return XDP_PASS;
	if ((void *)(ip + 1) > end)
		return XDP_PASS;
	return ip->dst == 0 ? XDP_DROP : XDP_PASS;
}

SEC("xdp")
int begin_compared(struct xdp_md *ctx)
{
	struct eth_hdr *eth = (void *)(long)ctx->data;

	if ((void *)(eth + 1) > (void *)(long)ctx->data_end)
		return XDP_PASS;
	return eth->type == be16(ETHERTYPE_IPV6) ? XDP_DROP : XDP_PASS;
}

struct cursor {
	struct eth_hdr *eth;
	struct ipv4_hdr *ip;
	void *end;
};

static __attribute__((noinline)) int is_loop(struct cursor *at)
{
	if ((void *)(at->ip + 1) > at->end)
		return 0;
	return at->ip->src == at->ip->dst;
}

SEC("xdp")
int through_a_cursor(struct xdp_md *ctx)
{
	struct cursor at = {
		.eth = (void *)(long)ctx->data,
		.ip = (void *)((struct eth_hdr *)(long)ctx->data + 1),
		.end = (void *)(long)ctx->data_end,
	};

	return is_loop(&at) ? XDP_DROP : XDP_PASS;
}

SEC("tc")
int shifted(struct __sk_buff *skb)
{
	u64 hash = skb->hash;

	if (hash < 4096)
		return 0;
	return shares[hash >> (skb->mark & 15) & 63];
}

SEC("tc")
int element_behind(struct __sk_buff *skb)
{
#pragma clang loop unroll(full)
	for (int i = 0; i < 5; i++)
		skb->cb[i]++;
	return 0;
}

static NOINLINE int bounded(u32 mark)
{
	return mark & 3;
}

SEC("cgroup_skb/egress")
int result_of_global(struct __sk_buff *skb)
{
	return bounded(skb->mark);
}

SEC("tc")
int two_records(struct __sk_buff *skb)
{
	u64 *first = ringbuf_reserve(&events, 8, 0), *second;

	if (!first)
		return 0;
	*first = skb->len;
	second = ringbuf_reserve(&events, 8, 0);
	if (!second) {
		ringbuf_discard(first, 0);
		return 0;
	}
	skb->mark = *first == 7;
	ringbuf_submit(first, 0);
	ringbuf_discard(second, 0);
	return 0;
}

NOINLINE int scaled(u32 by, u32 number)
{
	return by * number;
}

SEC("tc")
int not_assigned(struct __sk_buff *skb)
{
	u32 by = 4, number = get_prandom_u32();

	return scaled(by, number) & 1;
}

LICENSE_GPL;
