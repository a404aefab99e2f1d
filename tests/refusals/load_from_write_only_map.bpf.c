/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Programs may only write to the map. */
#include "packet.h"

enum { MAP_F_WRONLY_PROG = 256 };

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 4);
	UINT(map_flags, MAP_F_WRONLY_PROG);
	TYPE(key, u32);
	TYPE(value, u64);
} values SEC(".maps");

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	u32 key = 0;
	u64 *value = map_lookup_elem(&values, &key);

	if (!value)
		return XDP_PASS;
	return *value ? XDP_PASS : XDP_DROP;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	u32 key = 0;
	u64 *value = map_lookup_elem(&values, &key);

	if (!value)
		return XDP_PASS;
	*value = 1;
	return XDP_PASS;
}

LICENSE_GPL;
