/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A lock is read like a number. */
#include "../../programs/kfuncs/kfuncs.h"

struct guarded {
	struct bpf_spin_lock lock;
	u32 count;
};

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	struct guarded *item = OBJ_NEW(guarded);
	u32 word;

	if (!item)
		return 0;
	word = item->lock.val;
	bpf_obj_drop_impl(item, 0);
	return word;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	struct guarded *item = OBJ_NEW(guarded);
	u32 word;

	if (!item)
		return 0;
	word = item->count;
	bpf_obj_drop_impl(item, 0);
	return word;
}

LICENSE_GPL;
