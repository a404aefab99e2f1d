/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A ring buffer has no elements to go through. */
#include "packet.h"

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} events SEC(".maps");

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 4);
	TYPE(key, u32);
	TYPE(value, u64);
} values SEC(".maps");

static long each(void *map, void *key, void *value, void *ctx)
{
	return 0;
}

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	for_each_map_elem(&events, each, 0, 0);
	return XDP_PASS;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	for_each_map_elem(&values, each, 0, 0);
	return XDP_PASS;
}

LICENSE_GPL;
