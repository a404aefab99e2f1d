/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The pointer in the value is written to directly. */
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

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	struct stash *stash;
	u32 key = 0;

	stash = map_lookup_elem(&stashes, &key);
	if (stash)
		*(void *volatile *)&stash->object = stash;
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
