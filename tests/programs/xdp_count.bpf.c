/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* XDP: counts packets by IP protocol in a per-CPU array, drops those that are too short. */
#include "include/packet.h"

struct {
	UINT(type, MAP_PERCPU_ARRAY);
	UINT(max_entries, 256);
	TYPE(key, u32);
	TYPE(value, u64);
} packets SEC(".maps");

SEC("xdp")
int xdp_count(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct eth_hdr *eth = data;
	struct ipv4_hdr *ip = (void *)(eth + 1);
	u32 key = 0;
	u64 *count;

	if ((void *)(eth + 1) > end)
		return XDP_DROP;
	if (eth->type == be16(ETHERTYPE_IPV4)) {
		if ((void *)(ip + 1) > end)
			return XDP_DROP;
		key = ip->proto;
	}
	count = map_lookup_elem(&packets, &key);
	if (count)
		*count += 1;
	return XDP_PASS;
}

/* Swaps the MAC addresses and sends the packet back. */
SEC("xdp")
int xdp_reflect(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct eth_hdr *eth = data;

	if ((void *)(eth + 1) > end)
		return XDP_ABORTED;
	for (int i = 0; i < 6; i++) {
		u8 byte = eth->dst[i];

		eth->dst[i] = eth->src[i];
		eth->src[i] = byte;
	}
	return XDP_TX;
}

LICENSE_GPL;
