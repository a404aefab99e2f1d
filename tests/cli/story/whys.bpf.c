/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Rejected, where the line that is at fault is not the one next to the insn, or has none. Built with
 * the flags of tests/programs/build.sh. */
#include "../../programs/include/packet.h"

struct bpf_dynptr {
	u64 opaque[2];
} __attribute__((aligned(8)));

static long (*const dynptr_from_mem)(void *data, u32 size, u64 flags,
				     struct bpf_dynptr *ptr) = (void *)197;
static long (*const dynptr_read)(void *dst, u32 len, const struct bpf_dynptr *src, u32 offset,
				 u64 flags) = (void *)201;

struct kept {
	u64 when;
	struct bpf_dynptr ptr;
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

/* The array ends at 8: the compiler leaves out the loop, and what follows it. */
SEC("tc")
int past_the_array(struct __sk_buff *skb)
{
	char name[8], other[8];

	get_current_comm(name, sizeof(name));
	for (int i = 0; i < 16; i++)
		if (name[i] != other[i])
			return 0;
	return 1;
}

/* The context of traffic control. */
SEC("xdp")
int context_of_others(struct __sk_buff *skb)
{
	return skb->data_end - skb->data > 64 ? XDP_DROP : XDP_PASS;
}

/* The dynptr is copied with the rest. */
SEC("tc")
int dynptr_in_map(struct __sk_buff *skb)
{
	struct kept kept;
	u32 key = 0;

	kept.when = ktime_get_ns();
	dynptr_from_mem(room, sizeof(room), 0, &kept.ptr);
	map_update_elem(&kept_by_key, &key, &kept, 0);
	return 0;
}

/* The compiler gives both comparisons the place of the first. */
SEC("xdp")
int one_byte_less(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct eth_hdr *eth = data;
	struct ipv4_hdr *ip = (void *)(eth + 1);

	if ((void *)(eth + 1) > end)
		return XDP_PASS;
	if ((void *)(ip + 1) - 1 > end)
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
	if ((void *)(ip + 1) - 2 > end)
		return XDP_PASS;
	return ip->dst == 0 ? XDP_DROP : XDP_PASS;
}

/* Without `+ 1`: the comparison is of where the header begins. */
SEC("xdp")
int begin_compared(struct xdp_md *ctx)
{
	struct eth_hdr *eth = (void *)(long)ctx->data;

	if ((void *)eth > (void *)(long)ctx->data_end)
		return XDP_PASS;
	return eth->type == be16(ETHERTYPE_IPV6) ? XDP_DROP : XDP_PASS;
}

/* The pointer is a member of a structure. */
struct cursor {
	struct eth_hdr *eth;
	struct ipv4_hdr *ip;
	void *end;
};

static __attribute__((noinline)) int is_loop(struct cursor *at)
{
	if ((void *)(at->eth + 1) > at->end)
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

/* What was compared bounds a number from which the index is computed, by a shift. */
SEC("tc")
int shifted(struct __sk_buff *skb)
{
	u64 hash = skb->hash;

	if (hash < 4096)
		return 0;
	return shares[hash >> (skb->mark & 15)];
}

/* The field has five elements. */
SEC("tc")
int element_behind(struct __sk_buff *skb)
{
#pragma clang loop unroll(full)
	for (int i = 0; i <= 5; i++)
		skb->cb[i]++;
	return 0;
}

/* Verified on its own: what it returns is not known where it is called. */
NOINLINE int bounded(u32 mark)
{
	return mark & 3;
}

SEC("cgroup_skb/egress")
int result_of_global(struct __sk_buff *skb)
{
	return bounded(skb->mark);
}

/* The first record is gone by its own call, not by the last one. */
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
	ringbuf_submit(first, 0);
	ringbuf_discard(second, 0);
	return *first == 7;
}

NOINLINE int scaled(u32 by, u32 number)
{
	return by * number;
}

/* Nothing was assigned to what is passed. */
SEC("tc")
int not_assigned(struct __sk_buff *skb)
{
	u32 by, number = get_prandom_u32();

	return scaled(by, number) & 1;
}

LICENSE_GPL;
