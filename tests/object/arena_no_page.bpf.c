/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The variables of an arena need pages: libbpf does not wait for the number of them that a tool sets. */
#include "include/skep_bpf.h"

struct {
	UINT(type, 33);
	UINT(map_flags, 1024);
} arena SEC(".maps");

char __attribute__((address_space(1))) bytes[100] = { 1 };

SEC("syscall") int prog(void *ctx)
{
	return bytes[99] + (map_lookup_elem(&arena, &(u32){ 0 }) != 0);
}

LICENSE_GPL;
