/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A variable with a name that the kernel does not take in BTF: libbpf goes on without BTF. There are no
 * special fields then, and global functions are verified where they are called. */
#include "include/skep_bpf.h"

struct locked {
	struct bpf_spin_lock lock;
	u32 count;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct locked);
} map SEC(".maps");

extern int variable __asm__("v$1");
int variable = 5;

NOINLINE int first_byte(u8 *bytes)
{
	return *bytes;
}

SEC("tc") int calls(struct __sk_buff *skb)
{
	u8 byte = 1;

	return first_byte(&byte) + variable;
}

SEC("tc") int locks(struct __sk_buff *skb)
{
	u32 key = 0;
	struct locked *value = map_lookup_elem(&map, &key);

	if (!value)
		return 0;
	spin_lock(&value->lock);
	value->count++;
	spin_unlock(&value->lock);
	return 0;
}

LICENSE_GPL;
