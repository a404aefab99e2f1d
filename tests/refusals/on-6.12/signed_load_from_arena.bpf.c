/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A signed number of 4 bytes is loaded from an arena. */
#include "packet.h"

struct {
	UINT(type, 33);
	UINT(map_flags, 1 << 10);
	UINT(max_entries, 1);
} arena SEC(".maps");

SEC("syscall") __attribute__((naked))
int refused(void)
{
	asm volatile("r1 = %[arena] ll\n"
		     "r2 = 0\n"
		     ".8byte 0x00000001000122bf\n" /* r2 = addr_space_cast(r2, 0, 1) */
		     ".8byte 0x0000000000002381\n" /* r3 = *(s32 *)(r2 + 0) */
		     "r0 = 0\n"
		     "exit\n"
		     :
		     : [arena] "i"(&arena)
		     : "memory");
}

SEC("syscall") __attribute__((naked))
int mended(void)
{
	asm volatile("r1 = %[arena] ll\n"
		     "r2 = 0\n"
		     ".8byte 0x00000001000122bf\n" /* r2 = addr_space_cast(r2, 0, 1) */
		     "r3 = *(u32 *)(r2 + 0)\n"
		     "r3 <<= 32\n"
		     "r3 s>>= 32\n"
		     "r0 = 0\n"
		     "exit\n"
		     :
		     : [arena] "i"(&arena)
		     : "memory");
}

LICENSE_GPL;
