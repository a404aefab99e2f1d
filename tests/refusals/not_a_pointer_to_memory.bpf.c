/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A looked-up value is used before it is compared with NULL. */
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
	u32 key = ctx->rx_queue_index;
	u64 *count = map_lookup_elem(&counts, &key);

	*count += 1;
	return XDP_PASS;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	u32 key = ctx->rx_queue_index;
	u64 *count = map_lookup_elem(&counts, &key);

	if (!count)
		return XDP_PASS;
	*count += 1;
	return XDP_PASS;
}

LICENSE_GPL;
