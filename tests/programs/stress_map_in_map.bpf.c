/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Stress shape "map in map": nested lookups, each with its own nullness id, many ids alive. */
#include "include/skep_bpf.h"

struct inner {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 4);
	TYPE(key, u32);
	TYPE(value, u64);
} inner0 SEC(".maps"), inner1 SEC(".maps");

struct {
	UINT(type, MAP_ARRAY_OF_MAPS);
	UINT(max_entries, 2);
	TYPE(key, u32);
	ARRAY(values, struct inner);
} outer_array SEC(".maps") = {.values = {&inner0, &inner1}};

struct {
	UINT(type, MAP_HASH_OF_MAPS);
	UINT(max_entries, 2);
	TYPE(key, u32);
	ARRAY(values, struct inner);
} outer_hash SEC(".maps") = {.values = {&inner0}};

#define LOOKUP(n)                                                                                  \
	do {                                                                                       \
		u32 slot = n & 1, cell = n & 3;                                                    \
		void *map_a = map_lookup_elem(&outer_array, &slot);                                \
		void *map_b = map_lookup_elem(&outer_hash, &slot);                                 \
		u64 *a = 0, *b = 0;                                                                \
		if (map_a)                                                                         \
			a = map_lookup_elem(map_a, &cell);                                         \
		if (map_b)                                                                         \
			b = map_lookup_elem(map_b, &cell);                                         \
		if (a)                                                                             \
			sum += *a;                                                                 \
		if (b)                                                                             \
			*b = sum;                                                                  \
	} while (0)

#define EIGHT(n)                                                                                   \
	LOOKUP(n); LOOKUP(n + 1); LOOKUP(n + 2); LOOKUP(n + 3);                                    \
	LOOKUP(n + 4); LOOKUP(n + 5); LOOKUP(n + 6); LOOKUP(n + 7)

SEC("tc")
int map_in_map(struct __sk_buff *skb)
{
	u64 sum = skb->len;

	EIGHT(0);
	EIGHT(8);
	EIGHT(16);
	EIGHT(24);
	return sum & 1;
}

LICENSE_GPL;
