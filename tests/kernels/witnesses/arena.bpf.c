// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What may be done with pointers into arenas.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct {
	UINT(type, 33);
	UINT(map_flags, 1 << 10);
	UINT(max_entries, 4);
} arena SEC(".maps");

#define POINTER "r1 = %[arena] ll; r6 = 0; r6 = addr_space_cast(r6, 0, 1);"

SEC("syscall") __attribute__((naked)) int number_plus_pointer(void)
{
	asm volatile("r7 = *(u32 *)(r1 + 0);"
		     POINTER "r7 += r6;"
		     "r0 = 0;"
		     "exit" :: [arena] "i"(&arena) : "memory");
}

SEC("syscall") __attribute__((naked)) int pointer_plus_number(void)
{
	asm volatile("r7 = *(u32 *)(r1 + 0);"
		     POINTER "r6 += r7;"
		     "r0 = 0;"
		     "exit" :: [arena] "i"(&arena) : "memory");
}

SEC("syscall") __attribute__((naked)) int pointer_plus_pointer(void)
{
	asm volatile(POINTER "r7 = r6;"
		     "r7 += r6;"
		     "r0 = 0;"
		     "exit" :: [arena] "i"(&arena) : "memory");
}

SEC("syscall") __attribute__((naked)) int constant_minus_pointer(void)
{
	asm volatile(POINTER "r7 = 8;"
		     "r7 -= r6;"
		     "r0 = 0;"
		     "exit" :: [arena] "i"(&arena) : "memory");
}

SEC("syscall") __attribute__((naked)) int pointer_negated(void)
{
	asm volatile(POINTER "r6 = -r6;"
		     "r0 = 0;"
		     "exit" :: [arena] "i"(&arena) : "memory");
}

SEC("syscall") __attribute__((naked)) int pointer_times_number(void)
{
	asm volatile("r7 = *(u32 *)(r1 + 0);"
		     POINTER "r6 *= r7;"
		     "r0 = 0;"
		     "exit" :: [arena] "i"(&arena) : "memory");
}

SEC("syscall") __attribute__((naked)) int half_plus_pointer(void)
{
	asm volatile("r7 = *(u32 *)(r1 + 0);"
		     POINTER "w7 += w6;"
		     "r0 = 0;"
		     "exit" :: [arena] "i"(&arena) : "memory");
}

SEC("syscall") __attribute__((naked)) int pointer_or_number(void)
{
	asm volatile("r7 = *(u32 *)(r1 + 0);"
		     POINTER "r8 = r6;"
		     "if r7 > 3 goto 1f;"
		     "r8 = 0;"
		     "1: r8 += 16;"
		     "r0 = 0;"
		     "exit" :: [arena] "i"(&arena) : "memory");
}

// As above: negation, halves and swaps may differ.
SEC("syscall") __attribute__((naked)) int others_mix(void)
{
	asm volatile("r7 = *(u32 *)(r1 + 0);"
		     POINTER "r8 = r6;"
		     "if r7 > 3 goto 1f;"
		     "r8 = 0;"
		     "1: r9 = r8;"
		     "w9 += 16;"
		     "r8 = -r8;"
		     "r0 = 0;"
		     "exit" :: [arena] "i"(&arena) : "memory");
}

// r1 = *(s8 *)(r6 + 0)
SEC("syscall") __attribute__((naked)) int signed_load(void)
{
	asm volatile(POINTER ".8byte 0x6191;"
		     "r0 = 0;"
		     "exit" :: [arena] "i"(&arena) : "memory");
}
