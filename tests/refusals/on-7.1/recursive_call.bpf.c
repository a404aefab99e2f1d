/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A function calls itself. */
#include "packet.h"

static NOINLINE u32 bits(u32 n)
{
	return n > 1 ? bits(n >> 1) ^ bits(n >> 2) : n;
}

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	return bits(ctx->rx_queue_index);
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	u32 n = ctx->rx_queue_index;
	u32 bits = 0;

	for (int i = 0; i < 32 && n; i++, n >>= 1)
		bits ^= n;
	return bits;
}

LICENSE_GPL;
