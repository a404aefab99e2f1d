/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Programs that hold something while they count, so that they can be stopped there: a lock, a
 * record, an object. Each returns 0 if it got all of it. */
#include "kfuncs.h"

enum { MAP_USER_RINGBUF = 31 };

struct bpf_dynptr {
	u64 opaque[2];
} __attribute__((aligned(8)));

static long (*const ringbuf_reserve_dynptr)(void *ringbuf, u32 size, u64 flags,
					    struct bpf_dynptr *ptr) = (void *)198;
static void (*const ringbuf_submit_dynptr)(struct bpf_dynptr *ptr, u64 flags) = (void *)199;
static long (*const user_ringbuf_drain)(void *map, void *callback, void *ctx,
					u64 flags) = (void *)209;

struct locked_value {
	struct bpf_spin_lock lock;
	u32 turns;
	u64 more;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct locked_value);
} values SEC(".maps");

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} ring SEC(".maps");

struct {
	UINT(type, MAP_USER_RINGBUF);
	UINT(max_entries, 4096);
} samples SEC(".maps");

struct item {
	struct bpf_rb_node in_tree;
	u64 number;
	u64 more[40];
};

struct plain {
	u64 number;
};

struct stash {
	struct plain KPTR *object;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct stash);
} stashes SEC(".maps");

PRIVATE(A) struct bpf_spin_lock tree_lock;
PRIVATE(A) struct bpf_rb_root tree CONTAINS(item, in_tree);

static void count(volatile u32 *turns)
{
	/* A jump backwards is a unit of fuel. */
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < 20; i++)
		*turns += i;
}

/* A function of its own: a call is a unit of fuel. */
static NOINLINE int count_apart(u32 start)
{
	volatile u32 turns = start;

#pragma clang loop unroll(disable)
	for (u32 i = 0; i < 20; i++)
		turns += i;
	return turns;
}

static long count_once(u32 index, u64 *sum)
{
	*sum += index;
	return 0;
}

SEC("tc")
int lock(struct __sk_buff *skb)
{
	struct locked_value *value;
	u32 key = 0;

	value = map_lookup_elem(&values, &key);
	if (!value)
		return 1;
	spin_lock(&value->lock);
	count(&value->turns);
	spin_unlock(&value->lock);
	return 0;
}

SEC("tc")
int lock_in_callee(struct __sk_buff *skb)
{
	struct locked_value *value;
	u32 key = 0;

	value = map_lookup_elem(&values, &key);
	if (!value)
		return 1;
	spin_lock(&value->lock);
	value->turns += count_apart(key);
	spin_unlock(&value->lock);
	return 0;
}

SEC("tc")
int record(struct __sk_buff *skb)
{
	volatile u32 turns = 0;
	u64 *data;

	data = ringbuf_reserve(&ring, 8, 0);
	if (!data)
		return 1;
	count(&turns);
	*data = turns;
	ringbuf_submit(data, 0);
	return 0;
}

SEC("tc")
int record_in_callback(struct __sk_buff *skb)
{
	u64 *data, sum = 0;

	data = ringbuf_reserve(&ring, 8, 0);
	if (!data)
		return 1;
	loop(20, count_once, &sum, 0);
	*data = sum;
	ringbuf_submit(data, 0);
	return 0;
}

SEC("tc")
int record_of_dynptr(struct __sk_buff *skb)
{
	volatile u32 turns = 0;
	struct bpf_dynptr ptr;
	long failed;

	failed = ringbuf_reserve_dynptr(&ring, 8, 0, &ptr);
	if (!failed)
		count(&turns);
	ringbuf_submit_dynptr(&ptr, 0);
	return failed != 0;
}

SEC("tc")
int object(struct __sk_buff *skb)
{
	volatile u32 turns = 0;
	struct item *item;

	item = OBJ_NEW(item);
	if (!item)
		return 1;
	count(&turns);
	bpf_obj_drop_impl(item, 0);
	return 0;
}

SEC("tc")
int object_of_value(struct __sk_buff *skb)
{
	volatile u32 turns = 0;
	struct plain *object;
	struct stash *stash;
	u32 key = 0;

	stash = map_lookup_elem(&stashes, &key);
	if (!stash)
		return 1;
	object = kptr_xchg(&stash->object, 0);
	if (!object)
		object = OBJ_NEW(plain);
	if (!object)
		return 2;
	count(&turns);
	object = kptr_xchg(&stash->object, object);
	if (object)
		bpf_obj_drop_impl(object, 0);
	return 0;
}

static _Bool less(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	return OUTER(a, item, in_tree)->number < OUTER(b, item, in_tree)->number;
}

static int add(u64 number)
{
	struct item *item = OBJ_NEW(item);

	if (!item)
		return 1;
	item->number = number;
	spin_lock(&tree_lock);
	bpf_rbtree_add_impl(&tree, &item->in_tree, less, 0, 0);
	spin_unlock(&tree_lock);
	return 0;
}

static int take(void)
{
	volatile u32 turns = 0;
	struct bpf_rb_node *node;

	spin_lock(&tree_lock);
	node = bpf_rbtree_first(&tree);
	if (!node) {
		spin_unlock(&tree_lock);
		return 1;
	}
	node = bpf_rbtree_remove(&tree, node);
	spin_unlock(&tree_lock);
	if (!node)
		return 2;
	count(&turns);
	bpf_obj_drop_impl(OUTER(node, item, in_tree), 0);
	return 0;
}

/* The callbacks are called under the lock. What earlier runs have left is in the tree, too. */
SEC("tc")
int tree_of_objects(struct __sk_buff *skb)
{
	if (add(3) || add(1) || add(2) || add(4))
		return 1;
	if (take() || take() || take() || take())
		return 2;
	return 0;
}

static long look(struct bpf_dynptr *ptr, u64 *sum)
{
	*sum += count_apart(*sum);
	return 0;
}

/* How many samples there were. */
SEC("tc")
int drain(struct __sk_buff *skb)
{
	u64 sum = 0;

	return user_ringbuf_drain(&samples, look, &sum, 0);
}

LICENSE_GPL;
