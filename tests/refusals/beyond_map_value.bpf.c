/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The check lets the index be one more than the last. */
#include "packet.h"

u64 sums[32];

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	u32 index = ctx->rx_queue_index;

	if (index <= 32)
		sums[index] += 1;
	return XDP_PASS;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	u32 index = ctx->rx_queue_index;

	if (index < 32)
		sums[index] += 1;
	return XDP_PASS;
}

LICENSE_GPL;
