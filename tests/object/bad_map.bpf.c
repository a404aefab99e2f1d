/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* One map that the kernel does not create keeps every program of the object from being loaded. */
#include "include/skep_bpf.h"

struct {
	UINT(type, MAP_PERCPU_ARRAY);
	UINT(max_entries, 1);
	UINT(key_size, 4);
	UINT(value_size, 40000);
} too_large SEC(".maps");

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u64);
} good SEC(".maps");

SEC("xdp") int uses_it(void *ctx)
{
	u32 key = 0;

	return map_lookup_elem(&too_large, &key) ? 1 : 2;
}

SEC("xdp") int uses_another(void *ctx)
{
	u32 key = 0;

	return map_lookup_elem(&good, &key) ? 1 : 2;
}

LICENSE_GPL;
