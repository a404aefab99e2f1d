/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Only maps of maps and program arrays have values: libbpf refuses those of other maps. */
#include "include/skep_bpf.h"

struct inner {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u32);
};

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 2);
	TYPE(key, u32);
	ARRAY(values, struct inner);
} outer SEC(".maps");

SEC("tc") int prog(struct __sk_buff *skb)
{
	return 0;
}

LICENSE_GPL;
