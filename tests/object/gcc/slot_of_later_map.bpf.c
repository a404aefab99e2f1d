/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* GCC puts the last variable first: the map of maps comes before its inner map. */
#include "include/skep_bpf.h"

struct template {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 4);
	TYPE(key, u32);
	TYPE(value, u64);
};

struct template inner SEC(".maps");

struct {
	UINT(type, MAP_ARRAY_OF_MAPS);
	UINT(max_entries, 2);
	TYPE(key, u32);
	ARRAY(values, struct template);
} outer SEC(".maps") = {.values = {(void *)&inner}};

SEC("tc") int looks_inside(struct __sk_buff *skb)
{
	u32 key = 0;

	return map_lookup_elem(&outer, &key) != 0;
}

LICENSE_GPL;
