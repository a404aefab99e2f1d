/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The kernel does not describe a key alone: without a value that BTF describes, a map has no BTF. A
 * bloom filter, which has no key, has that of its value. */
#include "include/skep_bpf.h"

SEC("tc") int first(struct __sk_buff *skb)
{
	return 1;
}

struct {
	UINT(type, MAP_PROG_ARRAY);
	UINT(max_entries, 2);
	TYPE(key, u32);
	ARRAY(values, int(void));
} progs SEC(".maps") = { .values = { (void *)&first } };

struct {
	UINT(type, 30); /* bloom filter */
	UINT(max_entries, 10);
	UINT(map_extra, 3);
	TYPE(value, u64);
} filter SEC(".maps");

SEC("tc") int prog(struct __sk_buff *skb)
{
	u64 value = skb->hash;

	tail_call(skb, &progs, 0);
	return map_push_elem(&filter, &value, 0) != 0;
}

LICENSE_GPL;
