/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Compiled without -g: nothing describes the map. */
#include "../../programs/include/packet.h"

struct {
	UINT(type, MAP_ARRAY);
	TYPE(key, u32);
	TYPE(value, u64);
	UINT(max_entries, 1);
} hits SEC(".maps");

SEC("xdp")
int count(struct xdp_md *ctx)
{
	u32 key = 0;
	u64 *hit = map_lookup_elem(&hits, &key);

	if (hit)
		*hit += 1;
	return XDP_PASS;
}

LICENSE_GPL;
