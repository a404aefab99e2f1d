/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A global function takes a structure by value. */
#include "packet.h"

struct pair {
	u32 a, b;
};

NOINLINE int sum(struct pair pair)
{
	return pair.a + pair.b;
}

NOINLINE int sum_of(struct pair *pair)
{
	return pair ? pair->a + pair->b : 0;
}

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	struct pair pair = { ctx->rx_queue_index, 2 };

	return sum(pair);
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	struct pair pair = { ctx->rx_queue_index, 2 };

	return sum_of(&pair);
}

LICENSE_GPL;
