/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The callback reads behind the key. */
#include "packet.h"

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 4);
	TYPE(key, u32);
	TYPE(value, u64);
} values SEC(".maps");

static long wrong(void *map, u32 *key, u64 *value, void *ctx)
{
	return key[1] & 1;
}

static long right(void *map, u32 *key, u64 *value, void *ctx)
{
	return key[0] & 1;
}

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	for_each_map_elem(&values, wrong, 0, 0);
	return XDP_PASS;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	for_each_map_elem(&values, right, 0, 0);
	return XDP_PASS;
}

LICENSE_GPL;
