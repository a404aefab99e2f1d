/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* An object goes into the list a second time. */
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
	struct item *item = OBJ_NEW(item);

	if (!item)
		return 0;
	spin_lock(&lock);
	bpf_list_push_back_impl(&list, &item->node, 0, 0);
	bpf_list_push_back_impl(&list, &item->node, 0, 0);
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
	bpf_list_push_back_impl(&list, &item->node, 0, 0);
	spin_unlock(&lock);
	return 0;
}

LICENSE_GPL;
