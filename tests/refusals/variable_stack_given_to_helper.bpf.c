/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* An atomic operation on the stack, at an offset that varies. */
#include "packet.h"

SEC("xdp") __attribute__((naked))
int refused(void)
{
	asm volatile("r2 = *(u32 *)(r1 + 16)\n"
		     "r2 &= 8\n"
		     "r1 = 0\n"
		     "*(u64 *)(r10 - 8) = r1\n"
		     "*(u64 *)(r10 - 16) = r1\n"
		     "r3 = r10\n"
		     "r3 += -16\n"
		     "r3 += r2\n"
		     "r1 = 1\n"
		     "lock *(u64 *)(r3 + 0) += r1\n"
		     "r0 = 0\n"
		     "exit\n");
}

SEC("xdp") __attribute__((naked))
int mended(void)
{
	asm volatile("r2 = *(u32 *)(r1 + 16)\n"
		     "r2 &= 8\n"
		     "r1 = 0\n"
		     "*(u64 *)(r10 - 8) = r1\n"
		     "*(u64 *)(r10 - 16) = r1\n"
		     "r3 = r10\n"
		     "r3 += -16\n"
		     "r3 += r2\n"
		     "r1 = *(u64 *)(r3 + 0)\n"
		     "r1 += 1\n"
		     "*(u64 *)(r3 + 0) = r1\n"
		     "r0 = 0\n"
		     "exit\n");
}

LICENSE_GPL;
