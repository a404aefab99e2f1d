/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Refused: each program makes one classic mistake; the verifier's reason is in its comment. */
#include "include/packet.h"

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u64);
}

/* The bounds check covers the Ethernet header, the load is one byte behind it. */
SEC("xdp")
int short_bounds_check(struct xdp_md *ctx)
{
	u8 *data = (void *)(long)ctx->data;
	u8 *end = (void *)(long)ctx->data_end;

	if (data + sizeof(struct eth_hdr) > end)
		return XDP_DROP;
	return data[sizeof(struct eth_hdr)] ? XDP_PASS : XDP_DROP;
}

/* The index has a lower bound and no upper one. */
u8 letters[32];

SEC("xdp")
int index_unbounded(struct xdp_md *ctx)
{
	u32 index = ctx->rx_queue_index;

	return letters[index] ? XDP_PASS : XDP_DROP;
}

LICENSE_GPL;
