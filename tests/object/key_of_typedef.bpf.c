/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The key in a definition of a map is a pointer, not a typedef of one. */
#include "include/skep_bpf.h"

typedef u32 *pointer;

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	pointer key;
	TYPE(value, u32);
} map SEC(".maps");

SEC("socket") int prog(void *ctx)
{
	return 0;
}

LICENSE_GPL;
