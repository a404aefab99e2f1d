/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The key that a callback gets is written to. */
#include "packet.h"

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 4);
	TYPE(key, u32);
	TYPE(value, u64);
} values SEC(".maps");

static long change_key(void *map, u32 *key, u64 *value, void *ctx)
{
	*key = 1;
	return 0;
}

static long change_value(void *map, u32 *key, u64 *value, void *ctx)
{
	*value = *key;
	return 0;
}

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	for_each_map_elem(&values, change_key, 0, 0);
	return XDP_PASS;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	for_each_map_elem(&values, change_value, 0, 0);
	return XDP_PASS;
}

LICENSE_GPL;
