/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A list is changed under the lock of another. */
#include "../../programs/kfuncs/kfuncs.h"

struct item {
	struct bpf_list_node node;
	u64 number;
};

PRIVATE(A) struct bpf_spin_lock lock;
PRIVATE(A) struct bpf_list_head list CONTAINS(item, node);
PRIVATE(B) struct bpf_spin_lock other_lock;
PRIVATE(B) u64 other;

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	struct item *item = OBJ_NEW(item);

	if (!item)
		return 0;
	spin_lock(&other_lock);
	bpf_list_push_back_impl(&list, &item->node, 0, 0);
	spin_unlock(&other_lock);
	return 0;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	struct item *item = OBJ_NEW(item);

	if (!item)
		return 0;
	spin_lock(&lock);
	bpf_list_push_back_impl(&list, &item->node, 0, 0);
	spin_unlock(&lock);
	return 0;
}

LICENSE_GPL;
