/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A map of maps whose loader would say what the inner maps are, and one of a size that only its
 * loader knows. */
#include "include/skep_bpf.h"

struct {
	UINT(type, MAP_HASH_OF_MAPS);
	UINT(max_entries, 8);
	UINT(key_size, 4);
	UINT(value_size, 4);
} outer SEC(".maps");

struct {
	UINT(type, MAP_PERF_EVENT_ARRAY);
} events SEC(".maps");

SEC("socket") int looks_inside(void *ctx)
{
	u32 key = 0;
	void *inner = map_lookup_elem(&outer, &key);

	return inner && map_lookup_elem(inner, &key);
}

SEC("tracepoint/a/b") int sends(void *ctx)
{
	return (int)perf_event_output(ctx, &events, 0, &(u64){ 1 }, 8);
}

LICENSE_GPL;
