/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A map that other objects do not see: libbpf takes none. */
#include "include/skep_bpf.h"

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u64);
} seen SEC(".maps");

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u64);
} unseen __attribute__((visibility("hidden"))) SEC(".maps");

SEC("xdp") int uses_it(void *ctx)
{
	u32 key = 0;

	return map_lookup_elem(&unseen, &key) ? 1 : 2;
}

SEC("xdp") int uses_another(void *ctx)
{
	u32 key = 0;

	return map_lookup_elem(&seen, &key) ? 1 : 2;
}

LICENSE_GPL;
