/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Objects given to functions that do not take them: how each is refused is the kernel's to say. */
#include "kfuncs.h"

KSYM void *bpf_percpu_obj_new_impl(u64 local_type_id__k, void *meta__ign);
KSYM void bpf_percpu_obj_drop_impl(void *p__alloc, void *meta__ign);

#define PERCPU_KPTR __attribute__((btf_type_tag("percpu_kptr")))
#define PERCPU_NEW(type) bpf_percpu_obj_new_impl(__builtin_btf_type_id(*(struct type *)0, 0), 0)

/* No field that the kernel knows. */
struct plain {
	u64 number;
};

struct node {
	u64 number;
	struct bpf_rb_node node;
};

struct counted {
	u64 number;
	struct bpf_refcount refs;
};

struct holder {
	u64 number;
	struct plain KPTR *plain;
};

struct place {
	struct plain KPTR *plain;
	struct plain PERCPU_KPTR *copies;
	struct counted KPTR *counted;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct place);
} places SEC(".maps");

static inline __attribute__((always_inline)) struct place *place(void)
{
	u32 key = 0;

	return map_lookup_elem(&places, &key);
}

#define PROG(name) \
	SEC("tc") \
	int name(struct __sk_buff *skb)

PROG(xchg_maybe_null)
{
	struct place *at = place();
	void *old;

	if (!at)
		return 0;
	old = kptr_xchg(&at->plain, OBJ_NEW(plain));
	if (old)
		bpf_obj_drop_impl(old, 0);
	return 0;
}

/* The type is not looked at either. */
PROG(xchg_maybe_null_of_other_type)
{
	struct place *at = place();
	void *old;

	if (!at)
		return 0;
	old = kptr_xchg(&at->plain, OBJ_NEW(node));
	if (old)
		bpf_obj_drop_impl(old, 0);
	return 0;
}

PROG(xchg_maybe_null_copies)
{
	struct place *at = place();
	void *old;

	if (!at)
		return 0;
	old = kptr_xchg(&at->copies, PERCPU_NEW(plain));
	if (old)
		bpf_percpu_obj_drop_impl(old, 0);
	return 0;
}

PROG(xchg_what_was_there)
{
	struct place *at = place();
	void *old;

	if (!at)
		return 0;
	old = kptr_xchg(&at->plain, kptr_xchg(&at->plain, 0));
	if (old)
		bpf_obj_drop_impl(old, 0);
	return 0;
}

PROG(xchg_into_object)
{
	struct holder *holder = OBJ_NEW(holder);
	void *old;

	if (!holder)
		return 0;
	old = kptr_xchg(&holder->plain, OBJ_NEW(plain));
	if (old)
		bpf_obj_drop_impl(old, 0);
	bpf_obj_drop_impl(holder, 0);
	return 0;
}

/* Only RCU keeps what is read from a field. */
PROG(xchg_not_owned)
{
	struct place *at = place();
	void *old;

	if (!at)
		return 0;
	old = at->plain;
	if (!old)
		return 0;
	old = kptr_xchg(&at->plain, old);
	if (old)
		bpf_obj_drop_impl(old, 0);
	return 0;
}

PROG(acquire_plain)
{
	struct plain *plain = OBJ_NEW(plain);
	void *other;

	if (!plain)
		return 0;
	other = bpf_refcount_acquire_impl(plain, 0);
	if (other)
		bpf_obj_drop_impl(other, 0);
	bpf_obj_drop_impl(plain, 0);
	return 0;
}

PROG(acquire_copies)
{
	void *copies = PERCPU_NEW(plain);
	void *other;

	if (!copies)
		return 0;
	other = bpf_refcount_acquire_impl(copies, 0);
	if (other)
		bpf_obj_drop_impl(other, 0);
	bpf_percpu_obj_drop_impl(copies, 0);
	return 0;
}

PROG(acquire_node)
{
	struct node *node = OBJ_NEW(node);
	void *other;

	if (!node)
		return 0;
	other = bpf_refcount_acquire_impl(node, 0);
	if (other)
		bpf_obj_drop_impl(other, 0);
	bpf_obj_drop_impl(node, 0);
	return 0;
}

PROG(acquire_maybe_null)
{
	struct counted *counted = OBJ_NEW(counted);
	void *other = bpf_refcount_acquire_impl(counted, 0);

	if (other)
		bpf_obj_drop_impl(other, 0);
	if (counted)
		bpf_obj_drop_impl(counted, 0);
	return 0;
}

LICENSE_GPL;
