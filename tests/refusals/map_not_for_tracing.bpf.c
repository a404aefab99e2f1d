/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A probe uses a map whose values have a lock. */
#include "packet.h"

struct locked {
	struct bpf_spin_lock lock;
	u32 count;
};

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 8);
	TYPE(key, u32);
	TYPE(value, struct locked);
} locked SEC(".maps");

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 8);
	TYPE(key, u32);
	TYPE(value, u64);
} counts SEC(".maps");

SEC("kprobe/do_nanosleep")
int refused(void *ctx)
{
	u32 key = 0;
	struct locked *value = map_lookup_elem(&locked, &key);

	if (value)
		value->count++;
	return 0;
}

SEC("kprobe/do_nanosleep")
int mended(void *ctx)
{
	u32 key = 0;
	u64 *count = map_lookup_elem(&counts, &key);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

LICENSE_GPL;
