/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Not on 5.10: a map of a type that came later. Built with the flags of tests/programs/build.sh. */
#include "../../programs/include/packet.h"

static long (*const map_peek_elem)(void *map, void *value) = (void *)89;

enum { MAP_BLOOM_FILTER = 30 };

struct {
	UINT(type, MAP_BLOOM_FILTER);
	UINT(max_entries, 1024);
	TYPE(value, u32);
} senders SEC(".maps");

SEC("xdp")
int known_only(struct xdp_md *ctx)
{
	u32 queue = ctx->rx_queue_index;

	return map_peek_elem(&senders, &queue) ? XDP_DROP : XDP_PASS;
}

LICENSE_GPL;
