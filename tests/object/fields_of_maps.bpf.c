/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Values with special fields, in maps that may have them and in maps that may not: the kernel does not
 * create the latter with BTF, libbpf then creates them without, and their fields are plain bytes. */
#include "include/skep_bpf.h"

struct bpf_timer {
	u64 opaque[2];
} __attribute__((aligned(8)));

static long (*const timer_init)(void *timer, void *map, u64 flags) = (void *)169;

struct timed {
	struct bpf_timer timer;
	u64 count;
};

struct locked {
	struct bpf_spin_lock lock;
	u32 count;
};

#define MAP(map, of_type, of_key, of_value)                                                         \
	struct {                                                                                    \
		UINT(type, of_type);                                                                \
		UINT(max_entries, 1);                                                               \
		TYPE(key, of_key);                                                                  \
		TYPE(value, of_value);                                                              \
	} map SEC(".maps")

enum index { FIRST };

MAP(array, MAP_ARRAY, u32, struct timed);
MAP(array_by_enum, MAP_ARRAY, enum index, struct timed);
MAP(lru, MAP_LRU_HASH, u32, struct timed);
MAP(percpu, MAP_PERCPU_ARRAY, u32, struct timed);
MAP(hash, MAP_HASH, u32, struct locked);
MAP(lru_locked, MAP_LRU_HASH, u32, struct locked);
MAP(percpu_locked, MAP_PERCPU_HASH, u32, struct locked);

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 1);
	UINT(key_size, 4);
	TYPE(value, struct timed);
} key_of_a_size SEC(".maps");

struct ids {
	u64 cgroup;
	u32 attach;
};

struct other_ids {
	u32 attach;
	u32 rest;
	u64 cgroup;
};

#define STORAGE(map, of_key)                                                                        \
	struct {                                                                                    \
		UINT(type, 19); /* cgroup storage */                                                \
		TYPE(key, of_key);                                                                  \
		TYPE(value, u64);                                                                   \
	} map SEC(".maps")

STORAGE(storage, struct ids);
STORAGE(storage_by_int, u64);
STORAGE(storage_by_other, struct other_ids);

#define STARTS(map)                                                                                 \
	SEC("tc") int starts_##map(struct __sk_buff *skb)                                           \
	{                                                                                           \
		u32 key = 0;                                                                        \
		struct timed *value = map_lookup_elem(&map, &key);                                  \
		return value ? timer_init(&value->timer, &map, 1) != 0 : 0;                         \
	}
#define LOCKS(map)                                                                                  \
	SEC("tc") int locks_##map(struct __sk_buff *skb)                                            \
	{                                                                                           \
		u32 key = 0;                                                                        \
		struct locked *value = map_lookup_elem(&map, &key);                                 \
		if (!value)                                                                         \
			return 0;                                                                   \
		spin_lock(&value->lock);                                                            \
		value->count++;                                                                     \
		spin_unlock(&value->lock);                                                          \
		return 0;                                                                           \
	}
#define STORES(map)                                                                                 \
	SEC("tc") int stores_##map(struct __sk_buff *skb)                                           \
	{                                                                                           \
		u32 key = 0;                                                                        \
		u32 *value = map_lookup_elem(&map, &key);                                           \
		if (value)                                                                          \
			*value = 1;                                                                 \
		return 0;                                                                           \
	}

STARTS(array)
STARTS(array_by_enum)
STARTS(lru)
STARTS(percpu)
STARTS(key_of_a_size)
LOCKS(hash)
LOCKS(lru_locked)
LOCKS(percpu_locked)
STORES(array)
STORES(percpu)
STORES(hash)
STORES(lru_locked)
STORES(percpu_locked)

LICENSE_GPL;
