/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A move has an offset that means nothing. */
#include "packet.h"

SEC("xdp") __attribute__((naked))
int refused(void)
{
	asm volatile(".8byte 0x00000001002a00b7\n"
		     "exit\n");
}

SEC("xdp") __attribute__((naked))
int mended(void)
{
	asm volatile("r0 = 1\n"
		     "exit\n");
}

LICENSE_GPL;
