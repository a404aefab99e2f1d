/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A variable is read far behind its end. */
#include "packet.h"

u64 counts[4];

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	u64 *count;

	asm volatile("%0 = counts + 4000 ll" : "=r"(count));
	return *count ? XDP_PASS : XDP_DROP;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	u64 *count;

	asm volatile("%0 = counts + 24 ll" : "=r"(count));
	return *count ? XDP_PASS : XDP_DROP;
}

LICENSE_GPL;
