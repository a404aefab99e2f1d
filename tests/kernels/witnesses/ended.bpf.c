// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Objects of the program's own that were found in an RCU section, and are read after it.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define KFUNC extern __attribute__((section(".ksyms"), weak))
#define KPTR __attribute__((btf_type_tag("kptr")))

KFUNC void bpf_rcu_read_lock(void);
KFUNC void bpf_rcu_read_unlock(void);

struct bpf_rb_node { u64 opaque[4]; } __attribute__((aligned(8)));
struct bpf_rb_root { u64 opaque[2]; } __attribute__((aligned(8)));

struct bpf_list_node { u64 opaque[3]; } __attribute__((aligned(8)));
struct bpf_list_head { u64 opaque[2]; } __attribute__((aligned(8)));
struct bpf_refcount { u32 opaque; } __attribute__((aligned(4)));

KFUNC void *bpf_obj_new_impl(u64 type, void *meta);
KFUNC void bpf_obj_drop_impl(void *object, void *meta);
KFUNC void bpf_percpu_obj_drop_impl(void *object, void *meta);
KFUNC struct bpf_list_node *bpf_list_pop_front(struct bpf_list_head *head);
KFUNC void *bpf_refcount_acquire_impl(void *object, void *meta);

static void *(*const kptr_xchg)(void *place, void *object) = (void *)194;

struct own_plain { u64 key; };
struct own_node { u64 key; struct bpf_rb_node place; };

struct counted {
	u64 key;
	struct bpf_refcount count;
	struct bpf_list_node place;
};
// BTF has the structs whose members C uses.
__attribute__((used)) static int declares(struct own_plain *plain, struct own_node *node, struct counted *counted)
{
	return plain->key + node->key + counted->key;
}

#define HOLDER(map, kind)                                \
	struct of_##kind { struct kind KPTR *object; };  \
	struct {                                         \
		UINT(type, MAP_ARRAY);                   \
		UINT(max_entries, 1);                    \
		TYPE(key, u32);                          \
		TYPE(value, struct of_##kind);           \
	} map SEC(".maps")

struct tree {
	struct bpf_spin_lock lock;
	struct bpf_rb_root root __attribute__((btf_decl_tag("contains:own_node:place")));
};
struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct tree);
} trees SEC(".maps");

HOLDER(plains, own_plain);
HOLDER(nodes, own_node);

#define READ_AFTER(name, map, kind)                            \
	SEC("tc") int name(struct __sk_buff *skb)              \
	{                                                      \
		u32 key = 0;                                   \
		struct of_##kind *it = map_lookup_elem(&map, &key); \
		struct kind *object;                           \
		if (!it)                                       \
			return 0;                              \
		bpf_rcu_read_lock();                           \
		object = it->object;                           \
		if (!object) {                                 \
			bpf_rcu_read_unlock();                 \
			return 0;                              \
		}                                              \
		bpf_rcu_read_unlock();                         \
		return object->key;                            \
	}

READ_AFTER(plain_read_after, plains, own_plain)
READ_AFTER(node_read_after, nodes, own_node)

// What was stored as an object of one kind of memory is not of another.
struct percpu_place {
	struct own_plain __attribute__((btf_type_tag("percpu_kptr"))) *object;
};
struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct percpu_place);
} percpu_places SEC(".maps");

SEC("tc") int plain_into_percpu(struct __sk_buff *skb)
{
	u32 key = 0;
	struct percpu_place *it = map_lookup_elem(&percpu_places, &key);
	void *object, *old;
	if (!it)
		return 0;
	object = bpf_obj_new_impl(__builtin_btf_type_id(*(struct own_plain *)0, 0), 0);
	if (!object)
		return 0;
	old = kptr_xchg(&it->object, object);
	if (old)
		bpf_percpu_obj_drop_impl(old, 0);
	return 0;
}

struct line {
	struct bpf_spin_lock lock;
	struct bpf_list_head head __attribute__((btf_decl_tag("contains:counted:place")));
};
struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct line);
} queues SEC(".maps");

// The reference is taken through a pointer to the middle of the object.
SEC("tc") int acquired_inside(struct __sk_buff *skb)
{
	u32 key = 0;
	struct line *it = map_lookup_elem(&queues, &key);
	struct bpf_list_node *place;
	void *more;
	if (!it)
		return 0;
	spin_lock(&it->lock);
	place = bpf_list_pop_front(&it->head);
	spin_unlock(&it->lock);
	if (!place)
		return 0;
	more = bpf_refcount_acquire_impl(place, 0);
	if (more)
		bpf_obj_drop_impl(more, 0);
	bpf_obj_drop_impl((void *)place - __builtin_offsetof(struct counted, place), 0);
	return 0;
}

SEC("syscall") int node_read_after_lock(void *ctx)
{
	u32 key = 0;
	struct tree *tree = map_lookup_elem(&trees, &key);
	struct of_own_node *it = map_lookup_elem(&nodes, &key);
	struct own_node *object;
	if (!tree || !it)
		return 0;
	spin_lock(&tree->lock);
	object = it->object;
	spin_unlock(&tree->lock);
	if (!object)
		return 0;
	return object->key;
}
