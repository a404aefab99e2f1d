/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The rounds of a long loop are followed one by one. */
#include "packet.h"

volatile u64 sum;

static long round(u32 i, void *ctx)
{
	sum += i;
	return 0;
}

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	for (u32 i = 0; i < 10000000; i++)
		round(i, 0);
	return XDP_PASS;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	loop(1000000, round, 0, 0);
	return XDP_PASS;
}

LICENSE_GPL;
