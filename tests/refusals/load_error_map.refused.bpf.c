/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The elements of the array have no size: it is not created. */
#include "packet.h"

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 4);
	TYPE(key, u32);
} values SEC(".maps");

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	u32 key = 0;

	return map_lookup_elem(&values, &key) ? XDP_PASS : XDP_DROP;
}

LICENSE_GPL;
