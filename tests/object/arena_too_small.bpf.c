/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The variables of an arena must fit into it: libbpf compares their size with its pages. */
#include "include/skep_bpf.h"

#define ARENA(map)                     \
	struct {                       \
		UINT(type, 33);        \
		UINT(map_flags, 1024); \
		UINT(max_entries, 1);  \
	} map SEC(".maps")

ARENA(arena);

char __attribute__((address_space(1))) page_and_more[4097] = { 1 };

SEC("syscall") int prog(void *ctx)
{
	return page_and_more[4096] + (map_lookup_elem(&arena, &(u32){ 0 }) != 0);
}

LICENSE_GPL;
