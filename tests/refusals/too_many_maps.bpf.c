/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The program uses 70 maps. */
#include "packet.h"

#define TEN(make, n)                                                                               \
	make(n##0) make(n##1) make(n##2) make(n##3) make(n##4) make(n##5) make(n##6) make(n##7)    \
		make(n##8) make(n##9)
#define LOOKUP(n) found += map_lookup_elem(&map##n, &key) != 0;
#define MAP(n)                                                                                     \
	struct {                                                                                   \
		UINT(type, MAP_ARRAY);                                                             \
		UINT(max_entries, 1);                                                              \
		TYPE(key, u32);                                                                    \
		TYPE(value, u32);                                                                  \
	} map##n SEC(".maps");

TEN(MAP, 1)
TEN(MAP, 2)
TEN(MAP, 3)
TEN(MAP, 4)
TEN(MAP, 5)
TEN(MAP, 6)
TEN(MAP, 7)

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	u32 key = 0, found = 0;

	TEN(LOOKUP, 1)
	TEN(LOOKUP, 2)
	TEN(LOOKUP, 3)
	TEN(LOOKUP, 4)
	TEN(LOOKUP, 5)
	TEN(LOOKUP, 6)
	TEN(LOOKUP, 7)
	return found > 5 ? XDP_PASS : XDP_DROP;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	u32 key = 0, found = 0;

	TEN(LOOKUP, 1)
	TEN(LOOKUP, 2)
	TEN(LOOKUP, 3)
	return found > 5 ? XDP_PASS : XDP_DROP;
}

LICENSE_GPL;
