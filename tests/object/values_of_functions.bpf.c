/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The values of a map of maps are maps: libbpf refuses one of functions. */
#include "include/skep_bpf.h"

struct {
	UINT(type, MAP_ARRAY_OF_MAPS);
	UINT(max_entries, 2);
	TYPE(key, u32);
	ARRAY(values, int(void));
} outer SEC(".maps");

SEC("tc") int prog(struct __sk_buff *skb)
{
	return 0;
}

LICENSE_GPL;
