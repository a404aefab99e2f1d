/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The timer of a value of one map is made for another map. */
#include "packet.h"

struct bpf_timer {
	u64 opaque[2];
} __attribute__((aligned(8)));

static long (*const timer_init)(struct bpf_timer *timer, void *map, u64 flags) = (void *)169;

struct value {
	struct bpf_timer timer;
	u64 count;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 2);
	TYPE(key, u32);
	TYPE(value, struct value);
} first SEC(".maps"), second SEC(".maps");

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	u32 key = 0;
	struct value *value = map_lookup_elem(&first, &key);

	if (value)
		timer_init(&value->timer, &second, 1);
	return TC_ACT_OK;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	u32 key = 0;
	struct value *value = map_lookup_elem(&first, &key);

	if (value)
		timer_init(&value->timer, &first, 1);
	return TC_ACT_OK;
}

LICENSE_GPL;
