/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* An object without a count is shared. */
#include "../../programs/kfuncs/kfuncs.h"

struct item {
	struct bpf_list_node node;
	u64 number;
};

PRIVATE(A) struct bpf_spin_lock lock;
PRIVATE(A) struct bpf_list_head list CONTAINS(item, node);

struct counted {
	struct bpf_refcount count;
	u64 number;
};

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	struct item *item = OBJ_NEW(item), *again;

	if (!item)
		return 0;
	again = bpf_refcount_acquire_impl(item, 0);
	bpf_obj_drop_impl(item, 0);
	if (again)
		bpf_obj_drop_impl(again, 0);
	return 0;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	struct counted *item = OBJ_NEW(counted), *again;

	if (!item)
		return 0;
	again = bpf_refcount_acquire_impl(item, 0);
	bpf_obj_drop_impl(item, 0);
	if (again)
		bpf_obj_drop_impl(again, 0);
	return 0;
}

LICENSE_GPL;
