/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The name of the section says no type. */
#include "packet.h"

SEC("xpd")
int refused(void *ctx)
{
	return 0;
}

SEC("xdp")
int mended(void *ctx)
{
	return 0;
}

LICENSE_GPL;
