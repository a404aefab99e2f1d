/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The divisor is the constant 0. */
#include "packet.h"

SEC("xdp") __attribute__((naked))
int refused(void)
{
	asm volatile("r0 = 6\n"
		     "r0 /= 0\n"
		     "exit\n");
}

SEC("xdp") __attribute__((naked))
int mended(void)
{
	asm volatile("r0 = 6\n"
		     "r0 /= 2\n"
		     "exit\n");
}

LICENSE_GPL;
