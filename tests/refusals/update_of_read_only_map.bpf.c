/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Programs may only read the map. */
#include "packet.h"

enum { MAP_F_RDONLY_PROG = 128 };

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 4);
	UINT(map_flags, MAP_F_RDONLY_PROG);
	TYPE(key, u32);
	TYPE(value, u64);
} values SEC(".maps");

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	u32 key = 0;
	u64 value = 1;

	map_update_elem(&values, &key, &value, MAP_ANY);
	return XDP_PASS;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	u32 key = 0;
	u64 *value = map_lookup_elem(&values, &key);

	return value && *value ? XDP_PASS : XDP_DROP;
}

LICENSE_GPL;
