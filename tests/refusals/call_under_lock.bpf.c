/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The clock is read while the lock is held. */
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
	spin_lock(&value->lock);
	value->seen = ktime_get_ns();
	spin_unlock(&value->lock);
	return TC_ACT_OK;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	u32 key = 0;
	struct value *value = map_lookup_elem(&values, &key);

	if (!value)
		return TC_ACT_OK;
	u64 now = ktime_get_ns();

	spin_lock(&value->lock);
	value->seen = now;
	spin_unlock(&value->lock);
	return TC_ACT_OK;
}

LICENSE_GPL;
