/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A global function is given a packet where it was verified for plain memory. */
#include "packet.h"

struct pair {
	u32 a, b;
};

NOINLINE int sum(struct pair *pair)
{
	return pair ? pair->a + pair->b : 0;
}

static NOINLINE int static_sum(struct pair *pair)
{
	return pair->a + pair->b;
}

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	u8 *data = (void *)(long)ctx->data;
	u8 *end = (void *)(long)ctx->data_end;

	if (data + 4 > end)
		return XDP_DROP;
	return sum((void *)data);
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	u8 *data = (void *)(long)ctx->data;
	u8 *end = (void *)(long)ctx->data_end;

	if (data + sizeof(struct pair) > end)
		return XDP_DROP;
	return static_sum((void *)data);
}

LICENSE_GPL;
