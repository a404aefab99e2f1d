/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* An atomic addition is of one byte. */
#include "packet.h"

SEC("xdp") __attribute__((naked))
int refused(void)
{
	asm volatile("r0 = 0\n"
		     "*(u64 *)(r10 - 8) = r0\n"
		     ".8byte 0x00000000fff80ad3\n"
		     "exit\n");
}

SEC("xdp") __attribute__((naked))
int mended(void)
{
	asm volatile("r0 = 0\n"
		     "*(u64 *)(r10 - 8) = r0\n"
		     ".8byte 0x00000000fff80adb\n"
		     "exit\n");
}

LICENSE_GPL;
