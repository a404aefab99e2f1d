/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A helper for socket buffers in a program that has none. */
#include "packet.h"

static long (*const xdp_load_bytes)(void *xdp, u32 off, void *to, u32 len) = (void *)189;

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	u8 bytes[4];

	return skb_load_bytes(ctx, 0, bytes, sizeof(bytes)) ? XDP_DROP : XDP_PASS;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	u8 bytes[4];

	return xdp_load_bytes(ctx, 0, bytes, sizeof(bytes)) ? XDP_DROP : XDP_PASS;
}

LICENSE_GPL;
