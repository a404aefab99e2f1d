/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The value has no lock. */
#include "packet.h"

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 4);
	TYPE(key, u32);
	TYPE(value, u64);
} values SEC(".maps");

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	u32 key = 0;
	u64 *value = map_lookup_elem(&values, &key);

	if (!value)
		return TC_ACT_OK;
	spin_lock(value);
	++*value;
	spin_unlock(value);
	return TC_ACT_OK;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	u32 key = 0;
	u64 *value = map_lookup_elem(&values, &key);

	if (!value)
		return TC_ACT_OK;
	__sync_fetch_and_add(value, 1);
	return TC_ACT_OK;
}

LICENSE_GPL;
