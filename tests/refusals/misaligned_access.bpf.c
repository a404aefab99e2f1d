/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Eight bytes of the stack are read at an address that is no multiple of eight. */
#include "packet.h"

SEC("xdp") __attribute__((naked))
int refused(void)
{
	asm volatile("r1 = 0\n"
		     "*(u64 *)(r10 - 16) = r1\n"
		     "*(u64 *)(r10 - 8) = r1\n"
		     "r0 = *(u64 *)(r10 - 12)\n"
		     "r0 = 0\n"
		     "exit\n");
}

SEC("xdp") __attribute__((naked))
int mended(void)
{
	asm volatile("r1 = 0\n"
		     "*(u64 *)(r10 - 16) = r1\n"
		     "*(u64 *)(r10 - 8) = r1\n"
		     "r0 = *(u64 *)(r10 - 16)\n"
		     "r0 = 0\n"
		     "exit\n");
}

LICENSE_GPL;
