/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Replacements for functions of `replaced.bpf.c`. */
#include "../include/packet.h"

/* Reads the packet, as a program of the target's type may; the port is any number. */
SEC("freplace/verdict")
int first_byte(struct xdp_md *ctx, int port)
{
	u8 *data = (void *)(long)ctx->data;
	u8 *end = (void *)(long)ctx->data_end;

	return data + 1 > end ? XDP_DROP : data[0] + port;
}

/* Its prototype is another. */
SEC("freplace/verdict")
int no_port(struct xdp_md *ctx)
{
	return XDP_PASS;
}

/* What callers do not expect. */
SEC("freplace/verdict")
int shorten(struct xdp_md *ctx, int port)
{
	return xdp_adjust_head(ctx, port);
}

/* What its callers know of it is more than its prototype says. */
SEC("freplace/length")
int no_length(struct xdp_md *ctx)
{
	return 0;
}

/* Nobody has such a function. */
SEC("freplace/nothing")
int nothing(struct xdp_md *ctx)
{
	return 0;
}

LICENSE_GPL;
