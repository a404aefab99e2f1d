/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The map itself is read from before its beginning. */
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
	void *map = &values;

	asm volatile("" : "+r"(map));
	return *(u32 *)(map - 4) & 1;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	void *map = &values;

	asm volatile("" : "+r"(map));
	return *(u64 *)map & 1;
}

LICENSE_GPL;
