/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A program that may sleep may not use a map of this kind. */
#include "packet.h"

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 4);
	TYPE(key, u32);
	TYPE(value, u64);
} values SEC(".maps");

struct prefix {
	u32 bits;
	u32 address;
};

struct {
	UINT(type, MAP_LPM_TRIE);
	UINT(map_flags, MAP_F_NO_PREALLOC);
	UINT(max_entries, 8);
	TYPE(key, struct prefix);
	TYPE(value, u64);
} prefixes SEC(".maps");

SEC("syscall")
int refused(void *ctx)
{
	struct prefix key = {32, 1};

	return map_lookup_elem(&prefixes, &key) ? 1 : 0;
}

SEC("syscall")
int mended(void *ctx)
{
	u32 key = 1;

	return map_lookup_elem(&values, &key) ? 1 : 0;
}

LICENSE_GPL;
