/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A cast between address spaces needs an arena. */
#include "packet.h"

SEC("xdp") __attribute__((naked))
int refused(void)
{
	asm volatile("r1 = 0\n"
		     ".8byte 0x00000001000111bf\n"
		     "r0 = 0\n"
		     "exit\n");
}

SEC("xdp") __attribute__((naked))
int mended(void)
{
	asm volatile("r1 = 0\n"
		     "r1 = r1\n"
		     "r0 = 0\n"
		     "exit\n");
}

LICENSE_GPL;
