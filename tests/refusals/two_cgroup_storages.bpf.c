/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The program uses two storages of a group. */
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
} first SEC(".maps"), second SEC(".maps");

static void *(*const get_local_storage)(void *map, u64 flags) = (void *)81;

SEC("cgroup/skb")
int refused(struct __sk_buff *ctx)
{
	u64 *count = get_local_storage(&first, 0), *other = get_local_storage(&second, 0);

	*count = *other;
	return 1;
}

SEC("cgroup/skb")
int mended(struct __sk_buff *ctx)
{
	u64 *count = get_local_storage(&first, 0);

	++*count;
	return 1;
}

LICENSE_GPL;
