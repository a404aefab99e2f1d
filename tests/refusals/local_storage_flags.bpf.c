/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The flags must be 0. */
#include "packet.h"

enum { MAP_CGROUP_STORAGE = 19 };

struct storage_key {
	u64 cgroup;
	u32 attach_type;
};

struct {
	UINT(type, MAP_CGROUP_STORAGE);
	TYPE(key, struct storage_key);
	TYPE(value, u64);
} storage SEC(".maps");

static void *(*const get_local_storage)(void *map, u64 flags) = (void *)81;

SEC("cgroup/skb")
int refused(struct __sk_buff *ctx)
{
	u64 *count = get_local_storage(&storage, 1);

	__sync_fetch_and_add(count, 1);
	return 1;
}

SEC("cgroup/skb")
int mended(struct __sk_buff *ctx)
{
	u64 *count = get_local_storage(&storage, 0);

	__sync_fetch_and_add(count, 1);
	return 1;
}

LICENSE_GPL;
