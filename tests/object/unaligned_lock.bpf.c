/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A lock that is not aligned is none, and a struct with the name of a lock in it but no lock is not in
 * the BTF of the kernel: it does not load the BTF, and libbpf goes on without. */
#include "include/skep_bpf.h"

struct locked {
	char first;
	struct bpf_spin_lock lock;
} __attribute__((packed));

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct locked);
} map SEC(".maps");

SEC("tc") int prog(struct __sk_buff *skb)
{
	u32 key = 0;
	struct locked *value = map_lookup_elem(&map, &key);

	return value ? value->first : 0;
}

LICENSE_GPL;
