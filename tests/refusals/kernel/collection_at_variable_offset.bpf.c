/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Which list it is depends on a number. */
#include "../../programs/kfuncs/kfuncs.h"

struct item {
	struct bpf_list_node node;
	u64 number;
};

PRIVATE(A) struct bpf_spin_lock lock;
PRIVATE(A) struct bpf_list_head list CONTAINS(item, node);

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	struct bpf_list_node *node;

	spin_lock(&lock);
	node = bpf_list_pop_front((void *)&list + (ctx->len & 8));
	spin_unlock(&lock);
	if (node)
		bpf_obj_drop_impl(OUTER(node, item, node), 0);
	return 0;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	struct bpf_list_node *node;
	struct item *item = OBJ_NEW(item);

	if (!item)
		return 0;
	spin_lock(&lock);
	bpf_list_push_back_impl(&list, &item->node, 0, 0);
	node = bpf_list_pop_front(&list);
	spin_unlock(&lock);
	if (node)
		bpf_obj_drop_impl(OUTER(node, item, node), 0);
	return 0;
}

LICENSE_GPL;
