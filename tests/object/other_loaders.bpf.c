/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What objects for other loaders hold and libbpf refuses: map definitions as C structs, one of them
 * with more fields; a static entry function; unknown section names; calls into another section. */
#include "include/skep_bpf.h"

struct old_map {
	u32 type;
	u32 key_size;
	u32 value_size;
	u32 max_entries;
	u32 map_flags;
};

struct longer_map {
	struct old_map base;
	u32 id;
	u32 pinning;
};

struct old_map first SEC("maps") = { MAP_HASH, 4, 8, 100, MAP_F_NO_PREALLOC };
struct longer_map second SEC("maps") = { { MAP_ARRAY, 4, 16, 7, 0 }, 3, 2 };

NOINLINE SEC("helpers") int elsewhere(u32 value)
{
	return (int)(value + get_prandom_u32());
}

static SEC("from-container") int entry(struct __sk_buff *skb)
{
	u32 key = 0;

	if (!map_lookup_elem(&first, &key) || !map_lookup_elem(&second, &key))
		return elsewhere(skb->len);
	return 0;
}
