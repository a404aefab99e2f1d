/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A number in a definition of a map is an array, not a typedef of one. */
#include "include/skep_bpf.h"

typedef int array[MAP_ARRAY];

struct {
	array *type;
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u32);
} map SEC(".maps");

SEC("socket") int prog(void *ctx)
{
	return 0;
}

LICENSE_GPL;
