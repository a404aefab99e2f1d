/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What is locked is the word after the lock. */
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

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	u32 key = 0;
	struct value *value = map_lookup_elem(&values, &key);

	if (!value)
		return TC_ACT_OK;
	spin_lock(&value->count);
	spin_unlock(&value->count);
	return TC_ACT_OK;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	u32 key = 0;
	struct value *value = map_lookup_elem(&values, &key);

	if (!value)
		return TC_ACT_OK;
	spin_lock(&value->lock);
	spin_unlock(&value->lock);
	return TC_ACT_OK;
}

LICENSE_GPL;
