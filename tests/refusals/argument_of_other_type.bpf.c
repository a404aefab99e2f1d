/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The key is passed, and its address is meant. */
#include "packet.h"

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 8);
	TYPE(key, u32);
	TYPE(value, u64);
} counts SEC(".maps");

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	u64 key = ctx->rx_queue_index;

	return map_lookup_elem(&counts, (void *)key) ? XDP_PASS : XDP_DROP;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	u32 key = ctx->rx_queue_index;

	return map_lookup_elem(&counts, &key) ? XDP_PASS : XDP_DROP;
}

LICENSE_GPL;
