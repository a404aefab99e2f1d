/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A map of programs has no values to look up. */
#include "packet.h"

struct {
	UINT(type, MAP_PROG_ARRAY);
	UINT(max_entries, 4);
	TYPE(key, u32);
	TYPE(value, u32);
} progs SEC(".maps");

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

	return map_lookup_elem(&progs, &key) ? XDP_PASS : XDP_DROP;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	u32 key = ctx->rx_queue_index;

	return map_lookup_elem(&counts, &key) ? XDP_PASS : XDP_DROP;
}

LICENSE_GPL;
