/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Two programs of the same insns: libbpf relocates them for the first symbol only. In the other they
 * are as in the file, where a map is 0 and a call of a function one of itself. */
#include "include/skep_bpf.h"

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u32);
} map SEC(".maps");

SEC("tc") int prog(struct __sk_buff *skb)
{
	u32 key = 0;

	return map_lookup_elem(&map, &key) != 0;
}

extern int same(struct __sk_buff *skb) __attribute__((alias("prog")));

LICENSE_GPL;
