/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Nothing jumps behind the exit. */
#include "packet.h"

SEC("xdp") __attribute__((naked))
int refused(void)
{
	asm volatile("r0 = 0\n"
		     "exit\n"
		     "r0 = 1\n"
		     "exit\n");
}

SEC("xdp") __attribute__((naked))
int mended(void)
{
	asm volatile("r0 = 0\n"
		     "if r0 == 0 goto +1\n"
		     "r0 = 1\n"
		     "exit\n");
}

LICENSE_GPL;
