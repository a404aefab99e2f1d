/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The rest of the packet is computed as a number. */
#include "packet.h"

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	u8 *data = (void *)(long)ctx->data;
	u8 *end = (void *)(long)ctx->data_end;
	s64 rest = ctx->rx_queue_index;

	rest -= (s64)data;
	return rest > 14 && data + 1 <= end ? XDP_PASS : XDP_DROP;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	u8 *data = (void *)(long)ctx->data;
	u8 *end = (void *)(long)ctx->data_end;

	return data + 14 <= end ? XDP_PASS : XDP_DROP;
}

LICENSE_GPL;
