/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The offset of the jump leads behind the end. */
#include "packet.h"

SEC("xdp") __attribute__((naked))
int refused(void)
{
	asm volatile("r0 = 0\n"
		     "if r0 == 0 goto +7\n"
		     "exit\n");
}

SEC("xdp") __attribute__((naked))
int mended(void)
{
	asm volatile("r0 = 0\n"
		     "if r0 == 0 goto +0\n"
		     "exit\n");
}

LICENSE_GPL;
