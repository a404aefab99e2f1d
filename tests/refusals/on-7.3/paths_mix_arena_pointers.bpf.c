/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The sum is of a pointer into an arena on one path, of 0 on the other: from Linux 7.3 on. */
#include "skep_bpf.h"

struct {
	UINT(type, 33);
	UINT(map_flags, 1 << 10);
	UINT(max_entries, 4);
} arena SEC(".maps");

#define POINTER "r1 = %[arena] ll; r6 = 0; r6 = addr_space_cast(r6, 0, 1);"

SEC("syscall") __attribute__((naked)) int refused(void)
{
	asm volatile("r7 = *(u32 *)(r1 + 0);"
		     POINTER "r8 = r6;"
		     "if r7 > 3 goto 1f;"
		     "r8 = 0;"
		     "1: r8 += 16;"
		     "r0 = 0;"
		     "exit" :: [arena] "i"(&arena) : "memory");
}

/* The sum is computed where the pointer is one. */
SEC("syscall") __attribute__((naked)) int mended(void)
{
	asm volatile("r7 = *(u32 *)(r1 + 0);"
		     POINTER "r8 = r6;"
		     "r8 += 16;"
		     "if r7 > 3 goto 1f;"
		     "r8 = 0;"
		     "1: r0 = 0;"
		     "exit" :: [arena] "i"(&arena) : "memory");
}

LICENSE_GPL;
