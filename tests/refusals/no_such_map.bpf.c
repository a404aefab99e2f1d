/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A number stands where a map should. */
#include "packet.h"

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 4);
	TYPE(key, u32);
	TYPE(value, u64);
} values SEC(".maps");

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	asm volatile(".8byte 0x7fffffff00001118\n"
			 ".8byte 0\n" ::: "r1");
	return XDP_PASS;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	u32 key = 0;

	return map_lookup_elem(&values, &key) ? XDP_PASS : XDP_DROP;
}

LICENSE_GPL;
