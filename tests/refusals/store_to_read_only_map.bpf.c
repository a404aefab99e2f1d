/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A constant is changed. */
#include "packet.h"

const volatile u32 limit = 3;
volatile u32 current = 3;

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	*(volatile u32 *)&limit = ctx->rx_queue_index;
	return XDP_PASS;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	current = ctx->rx_queue_index;
	return XDP_PASS;
}

LICENSE_GPL;
