/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A number of which nothing is known is added to a pointer into the packet. */
#include "packet.h"

s64 skip;

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	u8 *data = (void *)(long)ctx->data;
	u8 *end = (void *)(long)ctx->data_end;

	data += skip;
	if (data + 1 > end)
		return XDP_DROP;
	return *data;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	u8 *data = (void *)(long)ctx->data;
	u8 *end = (void *)(long)ctx->data_end;
	u64 off = skip;

	if (off > 64)
		return XDP_DROP;
	data += off;
	if (data + 1 > end)
		return XDP_DROP;
	return *data;
}

LICENSE_GPL;
