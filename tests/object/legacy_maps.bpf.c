/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A definition without BTF, in a section of its own. */
#include "include/skep_bpf.h"

struct old_map {
	u32 type;
	u32 key_size;
	u32 value_size;
	u32 max_entries;
	u32 map_flags;
};

struct old_map counters SEC("maps/counters") = { MAP_HASH, 4, 8, 100, 0 };

SEC("socket") int counts(void *ctx)
{
	u32 key = 0;
	u64 *value = map_lookup_elem(&counters, &key);

	if (value)
		*value += 1;
	return 0;
}

LICENSE_GPL;
