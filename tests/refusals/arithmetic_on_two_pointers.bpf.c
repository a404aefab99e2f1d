/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Two pointers are added up. */
#include "packet.h"

SEC("xdp") __attribute__((naked))
int refused(void)
{
	asm volatile("r2 = r10\n"
		     "r2 += r1\n"
		     "r0 = 0\n"
		     "exit\n");
}

SEC("xdp") __attribute__((naked))
int mended(void)
{
	asm volatile("r2 = r10\n"
		     "r2 += -8\n"
		     "r0 = 0\n"
		     "exit\n");
}

LICENSE_GPL;
