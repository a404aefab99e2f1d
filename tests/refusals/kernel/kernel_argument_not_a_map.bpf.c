/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The work is made for something that is no map. */
#include "../../programs/kfuncs/kfuncs.h"

struct bpf_wq {
	u64 opaque[2];
} __attribute__((aligned(8)));

KSYM int bpf_wq_init(struct bpf_wq *wq, void *p__map, unsigned int flags);

struct value {
	struct bpf_wq work;
	u64 count;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 2);
	TYPE(key, u32);
	TYPE(value, struct value);
} values SEC(".maps");

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	u32 key = 0;
	struct value *value = map_lookup_elem(&values, &key);

	if (value)
		bpf_wq_init(&value->work, ctx, 0);
	return 0;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	u32 key = 0;
	struct value *value = map_lookup_elem(&values, &key);

	if (value)
		bpf_wq_init(&value->work, &values, 0);
	return 0;
}

LICENSE_GPL;
