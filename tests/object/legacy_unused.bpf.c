/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A definition without BTF that no program uses, with attributes that the kernel would refuse. */
#include "include/skep_bpf.h"

struct old_map {
	u32 type;
	u32 key_size;
	u32 value_size;
	u32 max_entries;
	u32 map_flags;
};

struct old_map without_entries SEC("maps/without_entries") = { 1, 4, 8, 0, 0 };

SEC("xdp") int uses_none(void *ctx)
{
	return 2;
}

LICENSE_GPL;
