/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* R6 is not the context. */
#include "packet.h"

SEC("socket") __attribute__((naked))
int refused(void)
{
	asm volatile("r6 = 1\n"
		     ".8byte 0x0000000000000030\n"
		     "r0 = 0\n"
		     "exit\n");
}

SEC("socket") __attribute__((naked))
int mended(void)
{
	asm volatile("r6 = r1\n"
		     ".8byte 0x0000000000000030\n"
		     "r0 = 0\n"
		     "exit\n");
}

LICENSE_GPL;
