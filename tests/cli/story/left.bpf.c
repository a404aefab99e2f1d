/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Refused: a function that may have called another program returns. Built with the flags of tests/programs/build.sh. */
#include "../../programs/include/packet.h"

struct {
	UINT(type, MAP_PROG_ARRAY);
	UINT(max_entries, 1);
	UINT(key_size, 4);
	UINT(value_size, 4);
} programs SEC(".maps");

NOINLINE int next(struct xdp_md *ctx)
{
	tail_call(ctx, &programs, 0);
	return 0;
}

static NOINLINE int next_of_ours(struct xdp_md *ctx)
{
	tail_call(ctx, &programs, 0);
	return 0;
}

/* Either function may be the last that sees this packet. */
SEC("xdp")
int global(struct xdp_md *ctx)
{
	u8 *p = (void *)(long)ctx->data;

	if ((void *)(p + 1) > (void *)(long)ctx->data_end)
		return XDP_PASS;
	next(ctx);
	*p = 42;
	return XDP_PASS;
}

/* A static one, too. */
SEC("xdp")
int ours(struct xdp_md *ctx)
{
	u8 *p = (void *)(long)ctx->data;

	if ((void *)(p + 1) > (void *)(long)ctx->data_end)
		return XDP_PASS;
	next_of_ours(ctx);
	*p = 42;
	return XDP_PASS;
}
