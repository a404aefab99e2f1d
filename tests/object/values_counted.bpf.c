/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* `values` is an array without a size: libbpf refuses one that has some. */
#include "include/skep_bpf.h"

struct inner {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u32);
};

struct {
	UINT(type, MAP_ARRAY_OF_MAPS);
	UINT(max_entries, 2);
	TYPE(key, u32);
	struct inner *values[2];
} outer SEC(".maps");

SEC("tc") int prog(struct __sk_buff *skb)
{
	return 0;
}

LICENSE_GPL;
