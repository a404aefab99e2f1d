/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A hash of maps can only be filled if its keys have 4 bytes: libbpf takes the place of a value as key. */
#include "include/skep_bpf.h"

struct inner {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u32);
} one SEC(".maps");

struct {
	UINT(type, MAP_HASH_OF_MAPS);
	UINT(max_entries, 2);
	TYPE(key, u64);
	ARRAY(values, struct inner);
} outer SEC(".maps") = { .values = { &one } };

SEC("tc") int prog(struct __sk_buff *skb)
{
	return 0;
}

LICENSE_GPL;
