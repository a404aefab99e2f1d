/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A helper of a later release. */
#include "packet.h"

static u64 (*const loop_of_5_17)(u32 n, void *step, void *ctx, u64 flags) = (void *)181;

static int step(u32 i, u32 *bits)
{
	*bits ^= i;
	return 0;
}

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	u32 bits = ctx->rx_queue_index;

	loop_of_5_17(32, step, &bits, 0);
	return bits;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	u32 bits = ctx->rx_queue_index;

	for (u32 i = 0; i < 32; i++)
		step(i, &bits);
	return bits;
}

LICENSE_GPL;
