/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A global function returns a pointer. */
#include "packet.h"

u32 table[4];

NOINLINE u32 *entry(u32 i)
{
	return &table[i & 3];
}

static NOINLINE u32 *static_entry(u32 i)
{
	return &table[i & 3];
}

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	return *entry(ctx->rx_queue_index);
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	return *static_entry(ctx->rx_queue_index);
}

LICENSE_GPL;
