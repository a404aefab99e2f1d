/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Objects that programs make: in lists, in trees, in maps' values, in two places at once. */
#include "kfuncs.h"

struct item {
	struct bpf_list_node node;
	u64 number;
	u64 untouched[40];
};

struct both {
	struct bpf_refcount count;
	struct bpf_rb_node in_tree;
	struct bpf_list_node in_list;
	u64 number;
};

struct plain {
	u64 number;
	u64 more[2];
};

PRIVATE(A) struct bpf_spin_lock list_lock;
PRIVATE(A) struct bpf_list_head list CONTAINS(item, node);
PRIVATE(B) struct bpf_spin_lock both_lock;
PRIVATE(B) struct bpf_rb_root tree CONTAINS(both, in_tree);
PRIVATE(B) struct bpf_list_head queue CONTAINS(both, in_list);

struct stash {
	u64 number;
	struct plain KPTR *object;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 2);
	TYPE(key, u32);
	TYPE(value, struct stash);
} array SEC(".maps");

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 4);
	TYPE(key, u32);
	TYPE(value, struct stash);
} hash SEC(".maps");

static int push(u64 number, int back)
{
	struct item *item = OBJ_NEW(item);

	if (!item)
		return 1;
	item->number = number;
	spin_lock(&list_lock);
	if (back)
		bpf_list_push_back_impl(&list, &item->node, 0, 0);
	else
		bpf_list_push_front_impl(&list, &item->node, 0, 0);
	spin_unlock(&list_lock);
	return 0;
}

static u64 pop(int back)
{
	struct bpf_list_node *node;
	struct item *item;
	u64 number;

	spin_lock(&list_lock);
	node = back ? bpf_list_pop_back(&list) : bpf_list_pop_front(&list);
	spin_unlock(&list_lock);
	if (!node)
		return 9;
	item = OUTER(node, item, node);
	number = item->number;
	bpf_obj_drop_impl(item, 0);
	return number;
}

/* The digits are what came out of the list. */
SEC("tc")
int list_order(struct __sk_buff *skb)
{
	struct bpf_list_node *node;
	u64 digits = 0;

	if (push(1, 0) || push(2, 1) || push(3, 0) || push(4, 1) || push(5, 0))
		return -1;
	spin_lock(&list_lock);
	node = bpf_list_front(&list);
	if (node)
		digits = OUTER(node, item, node)->number;
	node = bpf_list_back(&list);
	if (node)
		digits = 10 * digits + OUTER(node, item, node)->number;
	spin_unlock(&list_lock);
	digits = 10 * digits + pop(0);
	digits = 10 * digits + pop(1);
	digits = 10 * digits + pop(1);
	digits = 10 * digits + pop(0);
	digits = 10 * digits + pop(0);
	return 10 * digits + pop(1);
}

static _Bool less(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	return OUTER(a, both, in_tree)->number / 10 < OUTER(b, both, in_tree)->number / 10;
}

static int add(u64 number, int twice)
{
	struct both *both = OBJ_NEW(both), *again = 0;

	if (!both)
		return 1;
	both->number = number;
	if (twice) {
		again = bpf_refcount_acquire_impl(both, 0);
		if (!again) {
			bpf_obj_drop_impl(both, 0);
			return 2;
		}
	}
	spin_lock(&both_lock);
	bpf_rbtree_add_impl(&tree, &both->in_tree, less, 0, 0);
	if (again)
		bpf_list_push_back_impl(&queue, &again->in_list, 0, 0);
	spin_unlock(&both_lock);
	return 0;
}

static u64 remove_first(void)
{
	struct bpf_rb_node *node;
	struct both *both;
	u64 number;

	spin_lock(&both_lock);
	node = bpf_rbtree_first(&tree);
	if (!node) {
		spin_unlock(&both_lock);
		return 99;
	}
	node = bpf_rbtree_remove(&tree, node);
	spin_unlock(&both_lock);
	if (!node)
		return 98;
	both = OUTER(node, both, in_tree);
	number = both->number;
	bpf_obj_drop_impl(both, 0);
	return number;
}

/* In the order of their tens, equal ones as they came. */
SEC("tc")
int tree_order(struct __sk_buff *skb)
{
	u64 digits = 0;

	if (add(31, 0) || add(10, 0) || add(22, 0) || add(11, 0) || add(30, 0))
		return -1;
	for (int i = 0; i < 4; i++)
		digits = 100 * digits + remove_first();
	return digits % 1000000000 + remove_first() + remove_first();
}

/* An object in a list and in a tree is one. */
SEC("tc")
int two_places(struct __sk_buff *skb)
{
	struct bpf_list_node *node;
	struct both *both;
	u64 number;

	if (add(42, 1))
		return -1;
	number = remove_first();
	spin_lock(&both_lock);
	node = bpf_list_pop_front(&queue);
	spin_unlock(&both_lock);
	if (!node)
		return -2;
	both = OUTER(node, both, in_list);
	number = 100 * number + both->number;
	bpf_obj_drop_impl(both, 0);
	return number;
}

static int put(struct stash *stash, u64 number)
{
	struct plain *object, *old;
	int before = 0;

	object = OBJ_NEW(plain);
	if (!object)
		return -1;
	object->number = number;
	old = kptr_xchg(&stash->object, object);
	if (old) {
		before = old->number;
		bpf_obj_drop_impl(old, 0);
	}
	return before;
}

/* What is put into a value is there; what goes with a value is gone. */
SEC("tc")
int in_values(struct __sk_buff *skb)
{
	struct stash *stash, empty = {};
	u32 key = 1;
	u64 digits;

	stash = map_lookup_elem(&array, &key);
	if (!stash)
		return -1;
	digits = put(stash, 3);
	digits = 10 * digits + put(stash, 4);
	empty.number = 7;
	map_update_elem(&array, &key, &empty, MAP_ANY);
	digits = 10 * digits + put(stash, 5);
	map_update_elem(&hash, &key, &empty, MAP_ANY);
	stash = map_lookup_elem(&hash, &key);
	if (!stash)
		return -2;
	digits = 10 * digits + put(stash, 6);
	map_delete_elem(&hash, &key);
	map_update_elem(&hash, &key, &empty, MAP_ANY);
	stash = map_lookup_elem(&hash, &key);
	if (!stash)
		return -3;
	digits = 10 * digits + put(stash, 8);
	return 10 * digits + put(stash, 9);
}

LICENSE_GPL;
