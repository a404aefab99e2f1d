/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Divisions are rewritten to four insns each, until the jump over them reaches no further. */
#include "packet.h"

SEC("xdp") __attribute__((naked))
int refused(void)
{
	asm volatile("call 7\n"
		     "r2 = 3\n"
		     "if r0 == 7 goto 1f\n"
		     ".rept 8192\n"
		     ".8byte 0x000000000000203f\n" /* r0 /= r2 */
		     ".endr\n"
		     "1: r0 = 0\n"
		     "exit\n");
}

SEC("xdp") __attribute__((naked))
int mended(void)
{
	asm volatile("call 7\n"
		     "r2 = 3\n"
		     "if r0 == 7 goto 1f\n"
		     "r1 = 8192\n"
		     "0: r0 /= r2\n"
		     "r1 += -1\n"
		     "if r1 != 0 goto 0b\n"
		     "1: r0 = 0\n"
		     "exit\n");
}

LICENSE_GPL;
