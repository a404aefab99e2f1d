/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Maps of several kinds in one object: hash, per-CPU hash, LPM trie, queue, stack, a value with a
 * spin lock, global variables in .data, .bss and .rodata, and a map walked by a callback. */
#include "include/skep_bpf.h"

struct locked {
	struct bpf_spin_lock lock;
	u32 pad;
	u64 total;
};

struct prefix {
	u32 bits;
	u32 addr;
};

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 16);
	TYPE(key, u32);
	TYPE(value, struct locked);
} accounts SEC(".maps");

struct {
	UINT(type, MAP_LPM_TRIE);
	UINT(map_flags, MAP_F_NO_PREALLOC);
	UINT(max_entries, 16);
	TYPE(key, struct prefix);
	TYPE(value, u32);
} routes SEC(".maps");

struct {
	UINT(type, MAP_QUEUE);
	UINT(max_entries, 8);
	TYPE(value, u64);
} queue SEC(".maps");

struct {
	UINT(type, MAP_STACK);
	UINT(max_entries, 8);
	TYPE(value, u64);
} stack SEC(".maps");

struct {
	UINT(type, MAP_PERCPU_HASH);
	UINT(max_entries, 32);
	TYPE(key, u32);
	TYPE(value, u64);
} totals SEC(".maps");

u64 weights[8] = {1, 2, 4, 8, 16, 32, 64, 128};
u64 seen;
const volatile u32 scale = 3;

SEC("tc")
int use_locked(struct __sk_buff *skb)
{
	u32 key = skb->ifindex;
	struct locked *account = map_lookup_elem(&accounts, &key);

	if (!account)
		return TC_ACT_OK;
	spin_lock(&account->lock);
	account->total += skb->len;
	spin_unlock(&account->lock);
	return TC_ACT_OK;
}

SEC("tc")
int use_trie(struct __sk_buff *skb)
{
	struct prefix prefix = {.bits = 32, .addr = skb->hash};
	u32 *route = map_lookup_elem(&routes, &prefix);

	return route ? *route & 1 : TC_ACT_OK;
}

SEC("tc")
int use_queue(struct __sk_buff *skb)
{
	u64 value = weights[skb->priority & 7] * scale;

	seen++;
	if (map_push_elem(&queue, &value, MAP_ANY))
		map_pop_elem(&queue, &value);
	map_push_elem(&stack, &value, MAP_EXIST);
	return TC_ACT_OK;
}

struct sum {
	u64 total;
	u32 visited;
	u32 pad;
};

static long add_total(void *map, u32 *key, u64 *value, struct sum *sum)
{
	sum->total += *value;
	sum->visited += 1;
	return 0;
}

SEC("tc")
int sum_totals(struct __sk_buff *skb)
{
	struct sum sum = {};

	for_each_map_elem(&totals, add_total, &sum, 0);
	return sum.total > skb->len ? TC_ACT_SHOT : TC_ACT_OK;
}

LICENSE_GPL;
