/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Two functions have 320 bytes of variables each. */
#include "packet.h"

INLINE u32 fill(volatile u8 *room, u32 size, u32 at)
{
	room[at & 63] = 1;
	return room[at & 31];
}

static NOINLINE u32 inner(u32 at)
{
	u8 room[320];

	return fill(room, sizeof(room), at);
}

static NOINLINE u32 outer(u32 at)
{
	u8 room[320];

	return fill(room, sizeof(room), at) + inner(at);
}

static NOINLINE u32 smaller(u32 at)
{
	u8 room[64];

	return fill(room, sizeof(room), at) + inner(at);
}

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	return outer(ctx->rx_queue_index);
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	return smaller(ctx->rx_queue_index);
}

LICENSE_GPL;
