/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A map whose name the kernel does not take. */
#include "include/skep_bpf.h"

extern struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u64);
} named __asm__("a$b");

__typeof__(named) named SEC(".maps");

SEC("xdp") int uses_it(void *ctx)
{
	u32 key = 0;

	return map_lookup_elem(&named, &key) ? 1 : 2;
}

LICENSE_GPL;
