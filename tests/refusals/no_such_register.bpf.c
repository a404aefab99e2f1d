/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The program names R11. */
#include "packet.h"

SEC("xdp") __attribute__((naked))
int refused(void)
{
	asm volatile(".8byte 0x0000000100000bb7\n"
		     "r0 = 0\n"
		     "exit\n");
}

SEC("xdp") __attribute__((naked))
int mended(void)
{
	asm volatile("r9 = 1\n"
		     "r0 = 0\n"
		     "exit\n");
}

LICENSE_GPL;
