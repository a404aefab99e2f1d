/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A pointer is aligned with a mask. */
#include "packet.h"

SEC("xdp") __attribute__((naked))
int refused(void)
{
	asm volatile("r1 = r10\n"
		     "r1 &= -8\n"
		     "r0 = 0\n"
		     "exit\n");
}

SEC("xdp") __attribute__((naked))
int mended(void)
{
	asm volatile("r1 = r10\n"
		     "r1 += -8\n"
		     "r0 = 0\n"
		     "exit\n");
}

LICENSE_GPL;
