/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * What an operation on a map costs: each program does one 1,000 times, `nothing` does none. The
 * keys are 0 to 255; whoever measures fills the maps.
 */
#include "../include/skep_bpf.h"

enum { ROUNDS = 1000, KEYS = 256 };

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, KEYS);
	TYPE(key, u32);
	TYPE(value, u64);
} array SEC(".maps");

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 1024);
	TYPE(key, u32);
	TYPE(value, u64);
} hash SEC(".maps");

struct {
	UINT(type, MAP_PERCPU_ARRAY);
	UINT(max_entries, KEYS);
	TYPE(key, u32);
	TYPE(value, u64);
} percpu SEC(".maps");

struct {
	UINT(type, MAP_LRU_HASH);
	UINT(max_entries, 1024);
	TYPE(key, u32);
	TYPE(value, u64);
} lru SEC(".maps");

#define EACH(name, body)                                                                       \
	SEC("xdp") int name(struct xdp_md *ctx)                                                \
	{                                                                                      \
		u64 sum = 0;                                                                   \
                                                                                               \
		for (u32 i = 0; i < ROUNDS; i++) {                                             \
			u32 key = i % KEYS;                                                    \
                                                                                               \
			asm volatile("" : "+r"(key));                                          \
			key &= KEYS - 1;                                                       \
			body;                                                                  \
		}                                                                              \
		return sum;                                                                    \
	}

#define LOOKUP(map)                                                                            \
	u64 *value = map_lookup_elem(&map, &key);                                              \
	if (value)                                                                             \
	sum += *value

EACH(nothing, sum += key)
EACH(helper_call, sum += get_smp_processor_id() + key)
EACH(array_lookup, LOOKUP(array))
EACH(percpu_lookup, LOOKUP(percpu))
EACH(hash_lookup, LOOKUP(hash))
EACH(lru_lookup, LOOKUP(lru))
EACH(hash_update, sum += key; map_update_elem(&hash, &key, &sum, MAP_ANY))
EACH(lru_update, sum += key; map_update_elem(&lru, &key, &sum, MAP_ANY))

LICENSE_GPL;
