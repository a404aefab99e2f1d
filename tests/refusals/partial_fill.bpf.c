/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A half of a stored pointer is read. */
#include "packet.h"

SEC("xdp") __attribute__((naked))
int refused(void)
{
	asm volatile("*(u64 *)(r10 - 8) = r1\n"
		     "r0 = *(u32 *)(r10 - 8)\n"
		     "exit\n");
}

SEC("xdp") __attribute__((naked))
int mended(void)
{
	asm volatile("*(u64 *)(r10 - 8) = r1\n"
		     "r1 = *(u64 *)(r10 - 8)\n"
		     "r0 = 0\n"
		     "exit\n");
}

LICENSE_GPL;
