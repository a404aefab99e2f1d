/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The shape of a tree, as far as programs see it, while nodes come and go. */
#include "kfuncs.h"

KSYM struct bpf_rb_node *bpf_rbtree_root(struct bpf_rb_root *root);
KSYM struct bpf_rb_node *bpf_rbtree_left(struct bpf_rb_root *root, struct bpf_rb_node *node);
KSYM struct bpf_rb_node *bpf_rbtree_right(struct bpf_rb_root *root, struct bpf_rb_node *node);

struct leaf {
	struct bpf_refcount count;
	struct bpf_rb_node node;
	u64 number;
};

PRIVATE(A) struct bpf_spin_lock lock;
PRIVATE(A) struct bpf_rb_root tree CONTAINS(leaf, node);

u64 compared;

static _Bool less(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	compared++;
	return OUTER(a, leaf, node)->number < OUTER(b, leaf, node)->number;
}

/* Adds a node, and tries to add it again. */
static int add(u64 number)
{
	struct leaf *leaf = OBJ_NEW(leaf), *again;
	int result;

	if (!leaf)
		return 1;
	leaf->number = number;
	again = bpf_refcount_acquire_impl(leaf, 0);
	spin_lock(&lock);
	result = bpf_rbtree_add_impl(&tree, &leaf->node, less, 0, 0);
	if (again && !(number & 3))
		result = 3 * result + bpf_rbtree_add_impl(&tree, &again->node, less, 0, 0);
	else if (again)
		goto unused;
	spin_unlock(&lock);
	return result;
unused:
	spin_unlock(&lock);
	bpf_obj_drop_impl(again, 0);
	return result;
}

/* The numbers on the way down from the root. */
static u64 path(u32 turns)
{
	struct bpf_rb_node *node;
	u64 sum = 0;

	spin_lock(&lock);
	node = bpf_rbtree_root(&tree);
	for (int depth = 0; depth < 8 && node; depth++) {
		sum = 31 * sum + OUTER(node, leaf, node)->number;
		if (turns >> depth & 1)
			node = bpf_rbtree_left(&tree, node);
		else
			node = bpf_rbtree_right(&tree, node);
	}
	spin_unlock(&lock);
	return sum;
}

/* Removes the root, or a node below it. */
static u64 take(u32 turns)
{
	struct bpf_rb_node *node, *below;
	struct leaf *leaf;
	u64 number;

	spin_lock(&lock);
	node = bpf_rbtree_root(&tree);
	if (!node)
		goto nothing;
	for (int depth = 0; depth < 4 && turns >> depth & 16; depth++) {
		if (turns >> depth & 1)
			below = bpf_rbtree_left(&tree, node);
		else
			below = bpf_rbtree_right(&tree, node);
		if (!below)
			break;
		node = below;
	}
	node = bpf_rbtree_remove(&tree, node);
	spin_unlock(&lock);
	if (!node)
		return 1;
	leaf = OUTER(node, leaf, node);
	number = leaf->number;
	bpf_obj_drop_impl(leaf, 0);
	return number;
nothing:
	spin_unlock(&lock);
	return 2;
}

struct state {
	u64 random, sum;
};

static long step(u32 index, struct state *state)
{
	u32 random;

	state->random = state->random * 6364136223846793005ull + 1442695040888963407ull;
	random = state->random >> 33;
	/* The tree grows, shrinks, grows. */
	if ((random & 15) < (index & 64 ? 5 : 11))
		state->sum = 31 * state->sum + add(random >> 8 & 1023);
	else
		state->sum = 31 * state->sum + take(random >> 8);
	state->sum = 31 * state->sum + path(random >> 16);
	return 0;
}

/* The low half of what all paths, results and comparisons come to. */
SEC("tc")
int tree_shape(struct __sk_buff *skb)
{
	struct state state = { .random = skb->mark };

	loop(300, step, &state, 0);
	return state.sum + compared;
}

LICENSE_GPL;
