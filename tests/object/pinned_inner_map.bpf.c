/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* An inner map cannot be pinned: libbpf refuses even to say that it is not. */
#include "include/skep_bpf.h"

struct inner {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	UINT(pinning, 0);
	TYPE(key, u32);
	TYPE(value, u32);
};

struct {
	UINT(type, MAP_ARRAY_OF_MAPS);
	UINT(max_entries, 2);
	TYPE(key, u32);
	ARRAY(values, struct inner);
} outer SEC(".maps");

SEC("tc") int prog(struct __sk_buff *skb)
{
	return 0;
}

LICENSE_GPL;
