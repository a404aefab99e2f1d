/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Refused: the kernel loads none of the object's BTF because of a struct in it, so that there are neither
 * special fields nor types of functions. mended/unloaded.bpf.c does what the help says. Built with the
 * flags of tests/programs/build.sh. */
#include "../../programs/include/packet.h"

struct bpf_list_node {
	u64 opaque[3];
} __attribute__((aligned(8)));

struct bpf_rb_node {
	u64 opaque[4];
} __attribute__((aligned(8)));

struct bpf_refcount {
	u32 opaque[1];
} __attribute__((aligned(4)));

struct in_both {
	u64 key;
	struct bpf_list_node in_list;
	struct bpf_rb_node in_tree;
#ifdef MENDED
	struct bpf_refcount refs;
#endif
};

struct locked {
	struct bpf_spin_lock lock;
	u32 count;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct locked);
} counts SEC(".maps");

struct in_both *none;

SEC("tc")
int locks(struct __sk_buff *skb)
{
	u32 key = 0;
	struct locked *value = map_lookup_elem(&counts, &key);

	if (!value)
		return 0;
	spin_lock(&value->lock);
	value->count++;
	spin_unlock(&value->lock);
	return none != 0;
}

static int each(u32 index, void *ctx)
{
	*(u32 *)ctx += index;
	return 0;
}

SEC("tc")
int calls_back(struct __sk_buff *skb)
{
	u32 sum = 0;

	loop(8, each, &sum, 0);
	return sum;
}

LICENSE_GPL;
