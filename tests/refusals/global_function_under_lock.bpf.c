/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A global function is called while a lock is held. */
#include "packet.h"

struct value {
	struct bpf_spin_lock lock;
	u32 count;
	u64 seen;
};

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 8);
	TYPE(key, u32);
	TYPE(value, struct value);
} values SEC(".maps");

NOINLINE int next(u32 count)
{
	return count * 5 + 1;
}

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	u32 key = 0;
	struct value *value = map_lookup_elem(&values, &key);

	if (!value)
		return TC_ACT_OK;
	spin_lock(&value->lock);
	value->count = next(value->count);
	spin_unlock(&value->lock);
	return TC_ACT_OK;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	u32 key = 0;
	struct value *value = map_lookup_elem(&values, &key);
	u32 count;

	if (!value)
		return TC_ACT_OK;
	count = next(value->count);
	spin_lock(&value->lock);
	value->count = count;
	spin_unlock(&value->lock);
	return TC_ACT_OK;
}

LICENSE_GPL;
