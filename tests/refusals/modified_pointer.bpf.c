/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The context is passed on with an offset. */
#include "packet.h"

SEC("xdp") __attribute__((naked))
int refused(void)
{
	asm volatile("r1 += 4\n"
		     "r2 = 1\n"
		     "call 44\n"
		     "r0 = 2\n"
		     "exit\n");
}

SEC("xdp") __attribute__((naked))
int mended(void)
{
	asm volatile("r2 = 1\n"
		     "call 44\n"
		     "r0 = 2\n"
		     "exit\n");
}

LICENSE_GPL;
