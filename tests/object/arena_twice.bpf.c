/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* libbpf supports one arena of an object. */
#include "include/skep_bpf.h"

#define ARENA(map)                     \
	struct {                       \
		UINT(type, 33);        \
		UINT(map_flags, 1024); \
		UINT(max_entries, 1);  \
	} map SEC(".maps")

ARENA(arena);
ARENA(another);

SEC("tc") int prog(struct __sk_buff *skb)
{
	return 0;
}

LICENSE_GPL;
