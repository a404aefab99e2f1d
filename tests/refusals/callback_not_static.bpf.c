/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The callback is a global function. */
#include "packet.h"

u64 rounds;

long global_round(u32 i, void *ctx)
{
	rounds += i;
	return 0;
}

static long static_round(u32 i, void *ctx)
{
	rounds += i;
	return 0;
}

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	loop(8, global_round, 0, 0);
	return XDP_PASS;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	loop(8, static_round, 0, 0);
	return XDP_PASS;
}

LICENSE_GPL;
