/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * What C has in place of maps, for the same operations as maps.bpf.c: plain arrays and a plain
 * chained table, without locks, behind functions that are not inlined.
 */
typedef unsigned int u32;
typedef unsigned long long u64;

enum { ROUNDS = 1000, KEYS = 256, BUCKETS = 1024 };

#define CALLED __attribute__((noinline)) static

struct element {
	struct element *next;
	u32 hash;
	u32 key;
	u64 value;
};

static u64 array[KEYS];
static __thread u64 percpu[KEYS];
static __thread u32 cpu;
static struct element *buckets[BUCKETS], elements[BUCKETS];
static u32 used;

static u32 hash_of(u32 key)
{
	key ^= key >> 16;
	key *= 0x85ebca6b;
	key ^= key >> 13;
	key *= 0xc2b2ae35;
	return key ^ key >> 16;
}

CALLED u64 cpu_id(void)
{
	__asm__ volatile("");
	return cpu;
}

CALLED u64 *array_find(const u32 *key)
{
	return *key < KEYS ? &array[*key] : 0;
}

CALLED u64 *percpu_find(const u32 *key)
{
	return *key < KEYS ? &percpu[*key] : 0;
}

static struct element *find(u32 hash, u32 key)
{
	struct element *element = buckets[hash % BUCKETS];

	while (element && (element->hash != hash || element->key != key))
		element = element->next;
	return element;
}

CALLED u64 *hash_find(const u32 *key)
{
	struct element *element = find(hash_of(*key), *key);

	return element ? &element->value : 0;
}

CALLED int hash_put(const u32 *key, const u64 *value)
{
	u32 hash = hash_of(*key);
	struct element *element = find(hash, *key);

	if (!element) {
		if (used == BUCKETS)
			return -1;
		element = &elements[used++];
		element->next = buckets[hash % BUCKETS];
		element->hash = hash;
		element->key = *key;
		buckets[hash % BUCKETS] = element;
	}
	element->value = *value;
	return 0;
}

static void fill(void)
{
	for (u32 key = 0; key < KEYS && used < KEYS; key++) {
		u64 value = key;

		array[key] = key;
		hash_put(&key, &value);
	}
}

#define EACH(name, body)                                                                       \
	__attribute__((visibility("default"))) u64 name(void *ctx)                             \
	{                                                                                      \
		u64 sum = 0;                                                                   \
                                                                                               \
		fill();                                                                        \
		for (u32 i = 0; i < ROUNDS; i++) {                                             \
			u32 key = i % KEYS;                                                    \
                                                                                               \
			__asm__ volatile("" : "+r"(key));                                      \
			key &= KEYS - 1;                                                       \
			body;                                                                  \
		}                                                                              \
		return sum;                                                                    \
	}

#define LOOKUP(table)                                                                          \
	u64 *value = table##_find(&key);                                                       \
	if (value)                                                                             \
	sum += *value

EACH(nothing, sum += key)
EACH(helper_call, sum += cpu_id() + key)
EACH(array_lookup, LOOKUP(array))
EACH(percpu_lookup, LOOKUP(percpu))
EACH(hash_lookup, LOOKUP(hash))
EACH(hash_update, sum += key; hash_put(&key, &sum))
