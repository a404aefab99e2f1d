/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What compares is no function of the program. */
#include "../../programs/kfuncs/kfuncs.h"

struct item {
	struct bpf_rb_node node;
	u64 number;
};

PRIVATE(A) struct bpf_spin_lock lock;
PRIVATE(A) struct bpf_rb_root tree CONTAINS(item, node);

static _Bool compares(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	return OUTER(a, item, node)->number < OUTER(b, item, node)->number;
}

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	struct item *item = OBJ_NEW(item);

	if (!item)
		return 0;
	spin_lock(&lock);
	bpf_rbtree_add_impl(&tree, &item->node, (void *)&tree, 0, 0);
	spin_unlock(&lock);
	return 0;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	struct item *item = OBJ_NEW(item);

	if (!item)
		return 0;
	spin_lock(&lock);
	bpf_rbtree_add_impl(&tree, &item->node, compares, 0, 0);
	spin_unlock(&lock);
	return 0;
}

LICENSE_GPL;
