/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Objects of programs: the structs and kfuncs of lists, trees and references, written from their
 * documentation.
 */
#pragma once
#include "../include/skep_bpf.h"

struct bpf_list_head {
	u64 opaque[2];
} __attribute__((aligned(8)));
struct bpf_list_node {
	u64 opaque[3];
} __attribute__((aligned(8)));
struct bpf_rb_root {
	u64 opaque[2];
} __attribute__((aligned(8)));
struct bpf_rb_node {
	u64 opaque[4];
} __attribute__((aligned(8)));
struct bpf_refcount {
	u32 opaque[1];
} __attribute__((aligned(4)));

#define CONTAINS(type, node) __attribute__((btf_decl_tag("contains:" #type ":" #node)))
#define KPTR __attribute__((btf_type_tag("kptr")))
#define KSYM extern __attribute__((section(".ksyms")))
#define PRIVATE(name) SEC(".data." #name) __attribute__((visibility("hidden"), aligned(8)))
#define OBJ_NEW(type) \
	((struct type *)bpf_obj_new_impl(__builtin_btf_type_id(*(struct type *)0, 0), 0))
#define OUTER(ptr, type, member) \
	((struct type *)((char *)(ptr) - __builtin_offsetof(struct type, member)))

KSYM void *bpf_obj_new_impl(u64 local_type_id__k, void *meta__ign);
KSYM void bpf_obj_drop_impl(void *p__alloc, void *meta__ign);
KSYM void *bpf_refcount_acquire_impl(void *p__refcounted_kptr, void *meta__ign);
KSYM int bpf_list_push_front_impl(struct bpf_list_head *head, struct bpf_list_node *node,
				  void *meta__ign, u64 off);
KSYM int bpf_list_push_back_impl(struct bpf_list_head *head, struct bpf_list_node *node,
				 void *meta__ign, u64 off);
KSYM struct bpf_list_node *bpf_list_pop_front(struct bpf_list_head *head);
KSYM struct bpf_list_node *bpf_list_pop_back(struct bpf_list_head *head);
KSYM struct bpf_list_node *bpf_list_front(struct bpf_list_head *head);
KSYM struct bpf_list_node *bpf_list_back(struct bpf_list_head *head);
KSYM int bpf_rbtree_add_impl(struct bpf_rb_root *root, struct bpf_rb_node *node,
			     _Bool(less)(struct bpf_rb_node *a, const struct bpf_rb_node *b),
			     void *meta__ign, u64 off);
KSYM struct bpf_rb_node *bpf_rbtree_first(struct bpf_rb_root *root);
KSYM struct bpf_rb_node *bpf_rbtree_remove(struct bpf_rb_root *root, struct bpf_rb_node *node);

static void *(*const kptr_xchg)(void *dst, void *ptr) = (void *)194;
