/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Nine functions are in each other. */
#include "packet.h"

static u32 (*const cpu)(void) = (void *)8;

#define CALLS(name, inner)                                                                         \
	static NOINLINE u32 name(u32 seed)                                                         \
	{                                                                                          \
		return inner(seed + cpu()) ^ cpu();                                                \
	}

static NOINLINE u32 eighth(u32 seed)
{
	return seed ^ cpu();
}

CALLS(seventh, eighth)
CALLS(sixth, seventh)
CALLS(fifth, sixth)
CALLS(fourth, fifth)
CALLS(third, fourth)
CALLS(second, third)
CALLS(first, second)

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	return first(ctx->rx_queue_index) ? XDP_PASS : XDP_DROP;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	return second(ctx->rx_queue_index) ? XDP_PASS : XDP_DROP;
}

LICENSE_GPL;
