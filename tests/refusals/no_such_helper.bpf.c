/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Helper 9999 does not exist. */
#include "packet.h"

SEC("xdp") __attribute__((naked))
int refused(void)
{
	asm volatile("call 9999\n"
		     "r0 = 0\n"
		     "exit\n");
}

SEC("xdp") __attribute__((naked))
int mended(void)
{
	asm volatile("call 5\n"
		     "r0 = 0\n"
		     "exit\n");
}

LICENSE_GPL;
