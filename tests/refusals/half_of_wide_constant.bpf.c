/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The second half of a wide constant is missing. */
#include "packet.h"

SEC("xdp") __attribute__((naked))
int refused(void)
{
	asm volatile("r0 = 0\n"
		     ".8byte 0x0000000100000118\n"
		     "exit\n");
}

SEC("xdp") __attribute__((naked))
int mended(void)
{
	asm volatile("r0 = 0\n"
		     ".8byte 0x0000000100000118\n"
		     ".8byte 0\n"
		     "exit\n");
}

LICENSE_GPL;
