/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The section says what type of program it is. */
#include "packet.h"

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	return XDP_PASS;
}

LICENSE_GPL;
