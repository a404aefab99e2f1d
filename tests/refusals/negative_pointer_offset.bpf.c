/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The context is read from before its beginning. */
#include "packet.h"

SEC("tc") __attribute__((naked))
int refused(void)
{
	asm volatile("r1 += -4\n"
		     "r2 = *(u32 *)(r1 + 0)\n"
		     "r0 = 1\n"
		     "exit\n");
}

SEC("tc") __attribute__((naked))
int mended(void)
{
	asm volatile("r2 = *(u32 *)(r1 + 0)\n"
		     "r0 = 1\n"
		     "exit\n");
}

LICENSE_GPL;
