/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The index into a table is not compared with its size. */
#include "packet.h"

u8 letters[32];

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	u32 index = ctx->rx_queue_index;

	return letters[index] ? XDP_PASS : XDP_DROP;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	u32 index = ctx->rx_queue_index;

	if (index >= sizeof(letters))
		return XDP_DROP;
	return letters[index] ? XDP_PASS : XDP_DROP;
}

LICENSE_GPL;
