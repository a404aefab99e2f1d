/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The loop waits for memory to change. */
#include "packet.h"

volatile u32 busy;

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	while (busy)
		;
	return XDP_PASS;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	for (int i = 0; i < 64 && busy; i++)
		;
	return XDP_PASS;
}

LICENSE_GPL;
