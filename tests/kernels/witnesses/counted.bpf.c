// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Counted references to objects, and functions to which no program may be attached.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define KFUNC extern __attribute__((section(".ksyms")))

struct bpf_refcount { u32 opaque; } __attribute__((aligned(4)));

KFUNC void *bpf_obj_new_impl(u64 type, void *meta);
KFUNC void bpf_obj_drop_impl(void *object, void *meta);
KFUNC void *bpf_refcount_acquire_impl(void *object, void *meta);

struct counted {
	u64 number;
	struct bpf_refcount count;
};

// A second reference to an object.
SEC("tc") int acquires_counted(void *ctx)
{
	struct counted *object, *same;

	object = bpf_obj_new_impl(__builtin_btf_type_id(*(struct counted *)0, 0), 0);
	if (!object)
		return 0;
	same = bpf_refcount_acquire_impl(object, 0);
	if (same)
		bpf_obj_drop_impl(same, 0);
	bpf_obj_drop_impl(object, 0);
	return 0;
}

// A variable, so that BTF has the whole type.
struct plain {
	u64 number;
} plain;

struct place {
	struct plain __attribute__((btf_type_tag("percpu_kptr"))) *object;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct place);
} places SEC(".maps");

// What a field for objects of each CPU holds.
SEC("tc") int loads_percpu(void *ctx)
{
	u32 key = 0;
	struct place *it = map_lookup_elem(&places, &key);
	struct plain *object;

	if (!it || !it->object)
		return 0;
	object = ((void *(*)(const void *))154)(it->object);
	return object->number;
}

// Functions that programs call themselves when they begin and end.
SEC("fentry/migrate_disable") int begins(void *ctx)
{
	return 0;
}

SEC("fexit/migrate_enable") int ends(void *ctx)
{
	return 0;
}

SEC("fentry/__rcu_read_lock") int locks(void *ctx)
{
	return 0;
}
