/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The map itself is written to. */
#include "../../programs/kfuncs/kfuncs.h"

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 4);
	TYPE(key, u32);
	TYPE(value, u64);
} values SEC(".maps");

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	*(volatile u32 *)&values = 1;
	return 0;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	u32 key = 0;
	u64 *value = map_lookup_elem(&values, &key);

	if (value)
		*value = 1;
	return 0;
}

LICENSE_GPL;
