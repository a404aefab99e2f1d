/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A signed index is compared from above only. */
#include "packet.h"

u8 letters[32];
volatile s8 at;

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	s64 index = at;

	if (index > 31)
		return XDP_DROP;
	return letters[index] ? XDP_PASS : XDP_DROP;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	s64 index = at;

	if (index < 0 || index > 31)
		return XDP_DROP;
	return letters[index] ? XDP_PASS : XDP_DROP;
}

LICENSE_GPL;
