/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* An allocation is of a number. */
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
	u32 *number = bpf_obj_new_impl(__builtin_btf_type_id(*(u32 *)0, 0), 0);

	if (number)
		bpf_obj_drop_impl(number, 0);
	return 0;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	struct item *item = OBJ_NEW(item);

	if (item)
		bpf_obj_drop_impl(item, 0);
	return 0;
}

LICENSE_GPL;
