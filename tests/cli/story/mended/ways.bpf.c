/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Programs of ../ways.bpf.c with the lines that their helps ask for. Accepted. Built with the flags
 * of tests/programs/build.sh. */
#include "../../../programs/include/packet.h"

struct bpf_dynptr {
	u64 opaque[2];
} __attribute__((aligned(8)));

static long (*const ringbuf_reserve_dynptr)(void *ringbuf, u32 size, u64 flags,
					    struct bpf_dynptr *ptr) = (void *)198;
static void (*const ringbuf_submit_dynptr)(struct bpf_dynptr *ptr, u64 flags) = (void *)199;
static void *(*const dynptr_data)(const struct bpf_dynptr *ptr, u32 offset, u32 len) = (void *)203;
static void (*const ringbuf_discard_dynptr)(struct bpf_dynptr *ptr, u64 flags) = (void *)200;

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} events SEC(".maps");

struct locked {
	struct bpf_spin_lock lock;
	u32 count;
};

struct {
	UINT(type, MAP_HASH);
	TYPE(key, u32);
	TYPE(value, struct locked);
	UINT(max_entries, 16);
} counts SEC(".maps");

u32 places[64];
u32 limit = 64;

SEC("xdp")
int returns_early(struct xdp_md *ctx)
{
	u32 key = ctx->ingress_ifindex;
	u64 *event = ringbuf_reserve(&events, 8, 0);

	if (!event)
		return XDP_PASS;
	struct locked *count = map_lookup_elem(&counts, &key);
	if (!count) {
		ringbuf_discard(event, 0);
		return XDP_PASS;
	}
	*event = count->count;
	ringbuf_submit(event, 0);
	return XDP_PASS;
}

SEC("tc")
int keeps_the_lock(struct __sk_buff *skb)
{
	u32 key = skb->mark;
	struct locked *count = map_lookup_elem(&counts, &key);

	if (!count)
		return 0;
	spin_lock(&count->lock);
	if (count->count > 1000) {
		spin_unlock(&count->lock);
		return 2;
	}
	count->count++;
	spin_unlock(&count->lock);
	return 0;
}

SEC("xdp")
int checked_too_late(struct xdp_md *ctx)
{
	struct bpf_dynptr ptr;
	u32 *slice;

	if (ringbuf_reserve_dynptr(&events, 64, 0, &ptr) < 0) {
		ringbuf_discard_dynptr(&ptr, 0);
		return XDP_PASS;
	}
	slice = dynptr_data(&ptr, 0, 4);
	if (slice)
		*slice = 4;
	ringbuf_submit_dynptr(&ptr, 0);
	return XDP_PASS;
}

SEC("xdp")
int unknown_limit(struct xdp_md *ctx)
{
	u32 at = ctx->rx_queue_index;

	if (at >= limit || at >= 64)
		return XDP_PASS;
	return places[at];
}

SEC("xdp")
int too_short(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct eth_hdr *eth = data;
	struct ipv4_hdr *ip = data + sizeof(*eth);

	if ((void *)(ip + 1) > end)
		return XDP_PASS;
	return ip->proto == 17 ? XDP_DROP : XDP_PASS;
}

SEC("xdp")
int by_length(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	u64 len = end - data, sum = 0;

	if (data + 8 > end)
		return XDP_PASS;
	for (u64 i = 0; i < len && i < 8; i++)
		sum += *(volatile u8 *)(data + i);
	return sum > 100 ? XDP_DROP : XDP_PASS;
}

SEC("tc")
int sum_too_large(struct __sk_buff *skb)
{
	u32 at = skb->mark, len = skb->priority;

	if (at > sizeof(places) / 2 || !len || len > sizeof(places) / 2)
		return 0;
	return skb_load_bytes(skb, 0, (u8 *)places + at, len);
}

SEC("tc")
int next_value(struct __sk_buff *skb)
{
	u32 key = 0;
	u64 *count = map_lookup_elem(&counts, &key);

	return count ? ((u32 *)count)[1] : 0;
}

SEC("cgroup_skb/egress")
int returns_error(struct __sk_buff *skb)
{
	u8 bytes[4];

	if (skb->len > 9000)
		return 0;
	return skb_load_bytes(skb, 0, bytes, sizeof(bytes)) == 0;
}

LICENSE_GPL;
