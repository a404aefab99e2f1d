/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What is exchanged is no pointer. */
#include "../../programs/kfuncs/kfuncs.h"

struct plain {
	u64 number;
};

struct other {
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

struct counts {
	u64 number;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct counts);
} values SEC(".maps");

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	struct plain *plain = OBJ_NEW(plain);
	struct counts *counts;
	void *old;
	u32 key = 0;

	if (!plain)
		return 0;
	counts = map_lookup_elem(&values, &key);
	if (!counts) {
		bpf_obj_drop_impl(plain, 0);
		return 0;
	}
	old = kptr_xchg(&counts->number, plain);
	if (old)
		bpf_obj_drop_impl(old, 0);
	return 0;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	struct plain *plain = OBJ_NEW(plain);
	struct stash *stash;
	void *old;
	u32 key = 0;

	if (!plain)
		return 0;
	stash = map_lookup_elem(&stashes, &key);
	if (!stash) {
		bpf_obj_drop_impl(plain, 0);
		return 0;
	}
	old = kptr_xchg(&stash->object, plain);
	if (old)
		bpf_obj_drop_impl(old, 0);
	return 0;
}

LICENSE_GPL;
