/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A global function takes an address in the arena, and is given one of the stack. */
#include "packet.h"

#define ARG_ARENA __attribute__((btf_decl_tag("arg:arena")))

struct {
	UINT(type, 33);
	UINT(map_flags, 1 << 10);
	UINT(max_entries, 1);
} arena SEC(".maps");

NOINLINE int is_given(u64 *numbers ARG_ARENA)
{
	return numbers != 0;
}

INLINE void use_arena(void)
{
	asm volatile("r1 = %[arena] ll" : : [arena] "i"(&arena) : "r1");
}

SEC("syscall")
int refused(void *ctx)
{
	u64 number = 1;

	use_arena();
	return is_given(&number);
}

SEC("syscall")
int mended(void *ctx)
{
	use_arena();
	return is_given((u64 *)8);
}

LICENSE_GPL;
