/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A value is copied over as a whole, and its lock with it. */
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

	if (value)
		*value = (struct value){ .count = ctx->len };
	return TC_ACT_OK;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	u32 key = 0;
	struct value *value = map_lookup_elem(&values, &key);

	if (value) {
		value->count = ctx->len;
		value->seen = 0;
	}
	return TC_ACT_OK;
}

LICENSE_GPL;
