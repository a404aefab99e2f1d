/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The function has no section that says what type of program it is. */
#include "packet.h"

int refused(struct xdp_md *ctx)
{
	return XDP_PASS;
}

LICENSE_GPL;
