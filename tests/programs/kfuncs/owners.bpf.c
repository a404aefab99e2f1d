/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Objects that own others, trees that are searched, copies for each CPU, sets of CPUs in values. */
#include "kfuncs.h"

KSYM struct bpf_rb_node *bpf_rbtree_root(struct bpf_rb_root *root);
KSYM struct bpf_rb_node *bpf_rbtree_left(struct bpf_rb_root *root, struct bpf_rb_node *node);
KSYM struct bpf_rb_node *bpf_rbtree_right(struct bpf_rb_root *root, struct bpf_rb_node *node);
KSYM void *bpf_percpu_obj_new_impl(u64 local_type_id__k, void *meta__ign);
KSYM void bpf_percpu_obj_drop_impl(void *p__alloc, void *meta__ign);
KSYM void bpf_rcu_read_lock(void);
KSYM void bpf_rcu_read_unlock(void);

/* Of the kernel's structs only the first word. */
struct cpumask {
	u64 bits[1];
} __attribute__((preserve_access_index));

struct bpf_cpumask {
	struct cpumask cpumask;
} __attribute__((preserve_access_index));

KSYM struct bpf_cpumask *bpf_cpumask_create(void);
KSYM void bpf_cpumask_release(struct bpf_cpumask *cpumask);
KSYM struct bpf_cpumask *bpf_cpumask_acquire(struct bpf_cpumask *cpumask);
KSYM void bpf_cpumask_set_cpu(u32 cpu, struct bpf_cpumask *cpumask);
KSYM u32 bpf_cpumask_weight(const struct cpumask *cpumask);

static void *(*const per_cpu_ptr)(const void *ptr, u32 cpu) = (void *)153;
static void *(*const this_cpu_ptr)(const void *ptr) = (void *)154;

struct item {
	struct bpf_list_node node;
	u64 number;
};

struct note {
	u64 number;
};

struct owner {
	u64 number;
	struct bpf_spin_lock lock;
	struct bpf_list_head items CONTAINS(item, node);
	struct note KPTR *note;
};

struct keeper {
	struct owner KPTR *owner;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct keeper);
} keepers SEC(".maps");

static struct keeper *keeper(void)
{
	u32 key = 0;

	return map_lookup_elem(&keepers, &key);
}

static int add_item(struct owner *owner, u64 number)
{
	struct item *item = OBJ_NEW(item);

	if (!item)
		return 1;
	item->number = number;
	spin_lock(&owner->lock);
	bpf_list_push_back_impl(&owner->items, &item->node, 0, 0);
	spin_unlock(&owner->lock);
	return 0;
}

static u64 first_item(struct owner *owner)
{
	struct bpf_list_node *node;
	struct item *item;
	u64 number;

	spin_lock(&owner->lock);
	node = bpf_list_pop_front(&owner->items);
	spin_unlock(&owner->lock);
	if (!node)
		return 9;
	item = OUTER(node, item, node);
	number = item->number;
	bpf_obj_drop_impl(item, 0);
	return number;
}

static u64 swap_note(struct owner *owner, u64 number)
{
	struct note *note = OBJ_NEW(note), *old;
	u64 before = 0;

	if (!note)
		return 9;
	note->number = number;
	old = kptr_xchg(&owner->note, note);
	if (old) {
		before = old->number;
		bpf_obj_drop_impl(old, 0);
	}
	return before;
}

/* An object with a list and a pointer in it, which goes into a value and out of it again. */
SEC("tc")
int owns_others(struct __sk_buff *skb)
{
	struct keeper *place = keeper();
	struct owner *owner, *old;
	u64 digits = 0;

	if (!place)
		return -1;
	owner = OBJ_NEW(owner);
	if (!owner)
		return -2;
	owner->number = 7;
	if (add_item(owner, 1) || add_item(owner, 2) || add_item(owner, 3)) {
		bpf_obj_drop_impl(owner, 0);
		return -3;
	}
	digits = first_item(owner);
	digits = 10 * digits + swap_note(owner, 4);
	digits = 10 * digits + swap_note(owner, 5);
	old = kptr_xchg(&place->owner, owner);
	if (old)
		bpf_obj_drop_impl(old, 0);
	owner = kptr_xchg(&place->owner, 0);
	if (!owner)
		return -4;
	digits = 10 * digits + owner->number;
	digits = 10 * digits + first_item(owner);
	digits = 10 * digits + swap_note(owner, 6);
	old = kptr_xchg(&place->owner, owner);
	if (old)
		bpf_obj_drop_impl(old, 0);
	return digits;
}

struct leaf {
	struct bpf_rb_node node;
	u64 key;
	u64 value;
};

PRIVATE(A) struct bpf_spin_lock tree_lock;
PRIVATE(A) struct bpf_rb_root tree CONTAINS(leaf, node);

static _Bool less(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	return OUTER(a, leaf, node)->key < OUTER(b, leaf, node)->key;
}

static u64 find(u64 key)
{
	struct bpf_rb_node *at;
	u64 value = 9;

	spin_lock(&tree_lock);
	at = bpf_rbtree_root(&tree);
	for (int depth = 0; depth < 16 && at; depth++) {
		struct leaf *leaf = OUTER(at, leaf, node);

		if (leaf->key == key) {
			value = leaf->value;
			break;
		}
		at = key < leaf->key ? bpf_rbtree_left(&tree, at) : bpf_rbtree_right(&tree, at);
	}
	spin_unlock(&tree_lock);
	return value;
}

/* A tree is searched from its root: the digits are the values of keys, 9 where there is none. */
SEC("tc")
int tree_search(struct __sk_buff *skb)
{
	struct bpf_rb_node *node;
	u64 digits;

	digits = find(3);
	for (int i = 0; i < 8; i++) {
		struct leaf *leaf = OBJ_NEW(leaf);

		if (!leaf)
			return -1;
		leaf->key = (i * 5) & 7;
		leaf->value = i;
		spin_lock(&tree_lock);
		bpf_rbtree_add_impl(&tree, &leaf->node, less, 0, 0);
		spin_unlock(&tree_lock);
	}
	for (int key = 0; key < 9; key++)
		digits = 10 * digits + find(key);
	for (int i = 0; i < 8; i++) {
		spin_lock(&tree_lock);
		node = bpf_rbtree_first(&tree);
		if (!node) {
			spin_unlock(&tree_lock);
			return -2;
		}
		node = bpf_rbtree_remove(&tree, node);
		spin_unlock(&tree_lock);
		if (!node)
			return -3;
		bpf_obj_drop_impl(OUTER(node, leaf, node), 0);
	}
	return digits % 1000000000 + find(0);
}

struct counter {
	u64 runs;
	u64 bytes;
};

struct copies {
	struct counter __attribute__((btf_type_tag("percpu_kptr"))) *counter;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct copies);
} copies SEC(".maps");

/* Each CPU has its own: the first two together, and none behind the last. */
SEC("tc")
int each_cpu(struct __sk_buff *skb)
{
	struct counter __attribute__((btf_type_tag("percpu_kptr"))) *made, *shared;
	struct counter *mine;
	struct copies *place;
	u32 key = 0;
	u64 sum = 0;

	place = map_lookup_elem(&copies, &key);
	if (!place)
		return -1;
	made = (void *)bpf_percpu_obj_new_impl(
		__builtin_btf_type_id(*(struct counter *)0, 0), 0);
	if (!made)
		return -2;
	made = kptr_xchg(&place->counter, made);
	if (made)
		bpf_percpu_obj_drop_impl((void *)made, 0);
	bpf_rcu_read_lock();
	shared = place->counter;
	if (!shared) {
		bpf_rcu_read_unlock();
		return -3;
	}
	/* What a program has not written, nobody has zeroed. */
	for (int cpu = 0; cpu < 2; cpu++) {
		mine = per_cpu_ptr((void *)shared, cpu);
		if (mine)
			mine->runs = mine->bytes = 0;
	}
	mine = this_cpu_ptr((void *)shared);
	mine->runs += 1;
	mine->bytes = 40;
	for (int cpu = 0; cpu < 2; cpu++) {
		mine = per_cpu_ptr((void *)shared, cpu);
		if (mine)
			sum += mine->runs + mine->bytes;
	}
	if (per_cpu_ptr((void *)shared, 1 << 20))
		sum += 1000;
	bpf_rcu_read_unlock();
	return sum;
}

struct affinity {
	struct bpf_cpumask KPTR *mask;
};

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 2);
	TYPE(key, u32);
	TYPE(value, struct affinity);
} affinities SEC(".maps");

/* A set of CPUs in a value: what was there is given back. */
SEC("syscall")
int set_in_value(void *ctx)
{
	struct affinity *place, empty = {};
	struct bpf_cpumask *mask, *again, *old;
	u64 digits;
	u32 key = 1;

	map_update_elem(&affinities, &key, &empty, MAP_ANY);
	place = map_lookup_elem(&affinities, &key);
	if (!place)
		return -1;
	mask = bpf_cpumask_create();
	if (!mask)
		return -2;
	bpf_cpumask_set_cpu(0, mask);
	digits = mask->cpumask.bits[0];
	again = bpf_cpumask_acquire(mask);
	old = kptr_xchg(&place->mask, mask);
	if (old)
		bpf_cpumask_release(old);
	bpf_cpumask_set_cpu(1, again);
	bpf_cpumask_release(again);
	bpf_rcu_read_lock();
	mask = place->mask;
	if (mask) {
		digits = 10 * digits + bpf_cpumask_weight(&mask->cpumask);
		digits = 10 * digits + mask->cpumask.bits[0];
	}
	bpf_rcu_read_unlock();
	map_delete_elem(&affinities, &key);
	return digits;
}

LICENSE_GPL;
