/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* An attribute of a map that libbpf does not know; other loaders may. */
#include "include/skep_bpf.h"

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u64);
	UINT(foobar, 7);
} map SEC(".maps");

SEC("xdp") int uses_it(void *ctx)
{
	u32 key = 0;

	return map_lookup_elem(&map, &key) ? 1 : 2;
}

LICENSE_GPL;
