/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A map of maps with an inner map that is larger than its template. */
#include "include/skep_bpf.h"

struct template {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 4);
	TYPE(key, u32);
	TYPE(value, u64);
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 5);
	TYPE(key, u32);
	TYPE(value, u64);
} larger SEC(".maps");

struct {
	UINT(type, MAP_ARRAY_OF_MAPS);
	UINT(max_entries, 2);
	TYPE(key, u32);
	ARRAY(values, struct template);
} outer SEC(".maps") = {.values = {(void *)&larger}};

SEC("tc") int looks_inside(struct __sk_buff *skb)
{
	u32 key = 0;

	return map_lookup_elem(&outer, &key) != 0;
}

LICENSE_GPL;
