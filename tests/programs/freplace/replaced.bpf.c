/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* XDP: asks a function what to do; other programs (`replaces.bpf.c`) replace it. */
#include "../include/packet.h"

/* Changes nothing. */
NOINLINE int verdict(struct xdp_md *ctx, int port)
{
	return ctx->data_end - ctx->data > 1500 ? XDP_DROP : port ? XDP_PASS : XDP_DROP;
}

static NOINLINE int length(struct xdp_md *ctx)
{
	return ctx->data_end - ctx->data;
}

SEC("xdp")
int dispatch(struct xdp_md *ctx)
{
	if (length(ctx) < 14)
		return XDP_DROP;
	return verdict(ctx, 80) == XDP_PASS ? XDP_PASS : XDP_DROP;
}

/* Does without the function. */
SEC("xdp")
int pass(struct xdp_md *ctx)
{
	return XDP_PASS;
}

LICENSE_GPL;
