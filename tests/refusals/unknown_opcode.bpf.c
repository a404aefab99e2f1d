/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Opcode 0xff is no insn. */
#include "packet.h"

SEC("xdp") __attribute__((naked))
int refused(void)
{
	asm volatile(".8byte 0x00000000000000ff\n"
		     "r0 = 0\n"
		     "exit\n");
}

SEC("xdp") __attribute__((naked))
int mended(void)
{
	asm volatile("r0 = 0\n"
		     "exit\n");
}

LICENSE_GPL;
