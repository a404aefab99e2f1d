/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A map on a NUMA node that no machine has. */
#include "include/skep_bpf.h"

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 1);
	UINT(map_flags, 4); /* BPF_F_NUMA_NODE */
	UINT(numa_node, 1000);
	TYPE(key, u32);
	TYPE(value, u64);
} map SEC(".maps");

SEC("xdp") int uses_it(void *ctx)
{
	u32 key = 0;

	return map_lookup_elem(&map, &key) ? 1 : 2;
}

LICENSE_GPL;
