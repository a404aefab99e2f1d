/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* ../older_map.bpf.c with a map that each kernel has. */
#include "../../../programs/include/packet.h"

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 1024);
	TYPE(key, u32);
	TYPE(value, u8);
} senders SEC(".maps");

SEC("xdp")
int known_only(struct xdp_md *ctx)
{
	u32 queue = ctx->rx_queue_index;

	return map_lookup_elem(&senders, &queue) ? XDP_PASS : XDP_DROP;
}

LICENSE_GPL;
