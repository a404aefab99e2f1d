/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A global function is given a part of the packet, and moves the packet before it reads that. */
#include "packet.h"

struct header {
	u64 first;
	u8 rest[6];
};

__attribute__((weak)) NOINLINE int strip_and_read(struct xdp_md *ctx, struct header *header)
{
	if (!header)
		return 0;
	xdp_adjust_head(ctx, 4);
	return header->first;
}

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	struct header *header = (void *)(long)ctx->data;

	if ((void *)(header + 1) > end)
		return 0;
	return strip_and_read(ctx, header);
}

__attribute__((weak)) NOINLINE int strip(struct xdp_md *ctx)
{
	return xdp_adjust_head(ctx, 4);
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	struct header *header = (void *)(long)ctx->data;
	int first;

	if ((void *)(header + 1) > end)
		return 0;
	first = header->first;
	strip(ctx);
	return first;
}
