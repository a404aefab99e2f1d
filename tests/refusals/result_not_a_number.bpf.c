/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A pointer is returned to say that something was found. */
#include "packet.h"

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 8);
	TYPE(key, u32);
	TYPE(value, u64);
} counts SEC(".maps");

SEC("cgroup_skb/ingress")
int refused(struct __sk_buff *ctx)
{
	u32 key = ctx->mark;

	return (long)map_lookup_elem(&counts, &key);
}

SEC("cgroup_skb/ingress")
int mended(struct __sk_buff *ctx)
{
	u32 key = ctx->mark;

	return map_lookup_elem(&counts, &key) != 0;
}

LICENSE_GPL;
