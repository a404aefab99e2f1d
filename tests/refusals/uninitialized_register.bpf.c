/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* R2 is read before anything is in it. */
#include "packet.h"

SEC("xdp") __attribute__((naked))
int refused(void)
{
	asm volatile("r0 = r2\n"
		     "exit\n");
}

SEC("xdp") __attribute__((naked))
int mended(void)
{
	asm volatile("r2 = 1\n"
		     "r0 = r2\n"
		     "exit\n");
}

LICENSE_GPL;
