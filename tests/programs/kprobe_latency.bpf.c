/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* kprobe and kretprobe: time between entry and return, as a power-of-two histogram. */
#include "include/skep_bpf.h"

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 4096);
	TYPE(key, u64);
	TYPE(value, u64);
} started SEC(".maps");

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 64);
	TYPE(key, u32);
	TYPE(value, u64);
} histogram SEC(".maps");

const volatile u64 shortest_ns = 100;

INLINE u32 log2_u64(u64 v)
{
	u32 bit = 0;

	if (v >> 32) {
		v >>= 32;
		bit += 32;
	}
	if (v >> 16) {
		v >>= 16;
		bit += 16;
	}
	if (v >> 8) {
		v >>= 8;
		bit += 8;
	}
	if (v >> 4) {
		v >>= 4;
		bit += 4;
	}
	if (v >> 2) {
		v >>= 2;
		bit += 2;
	}
	if (v >> 1)
		bit += 1;
	return bit;
}

SEC("kprobe/vfs_read")
int on_entry(struct pt_regs *ctx)
{
	u64 id = get_current_pid_tgid();
	u64 now = ktime_get_ns();

	if (ctx->dx == 0)
		return 0;
	map_update_elem(&started, &id, &now, MAP_ANY);
	return 0;
}

SEC("kretprobe/vfs_read")
int on_return(struct pt_regs *ctx)
{
	u64 id = get_current_pid_tgid();
	u64 *since = map_lookup_elem(&started, &id);
	u64 spent, *slot;
	u32 bucket;

	if (!since)
		return 0;
	spent = ktime_get_ns() - *since;
	map_delete_elem(&started, &id);
	if (spent < shortest_ns || (s64)ctx->ax < 0)
		return 0;
	bucket = log2_u64(spent);
	slot = map_lookup_elem(&histogram, &bucket);
	if (slot)
		__sync_fetch_and_add(slot, 1);
	return 0;
}

LICENSE_GPL;
