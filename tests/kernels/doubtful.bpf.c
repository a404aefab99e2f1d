/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What some kernels do with these programs depends on what is not modelled: an accepted one would
 * be refused by those, or the reverse. Built with the flags of the witnesses. */
#include "../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} records SEC(".maps");

/* 5.19: a copied constant has an id, which stays at the top of the stack under what is stored there
 * later. "more than one arg with ref_obj_id" */
SEC("tc") __attribute__((naked)) int two_slices(void)
{
	asm volatile(
	"r9 = 5; r6 = r9; *(u64 *)(r10 - 8) = r9; r1 = 0; *(u64 *)(r10 - 8) = r1;"
	"r1 = records ll; r2 = 16; r3 = 0; r4 = r10; r4 += -32; call 198;"
	"r1 = r10; r1 += -32; r2 = 0; r3 = 8; call 203; r7 = r0;"
	"r1 = r10; r1 += -32; r2 = 0; r3 = 8; call 203; r8 = r0;"
	"if r7 == 0 goto 1f; if r8 == 0 goto 1f;"
	"r1 = r7; r2 = 8; r3 = r8; r4 = 8; r5 = 0; call 28;"
	"1: r1 = r10; r1 += -32; r2 = 0; call 200; r0 = 0; exit");
}

/* 6.5 to 6.11: going back over a jump, seven linked registers are precise.
 * "invalid variable-offset write to stack R8" */
SEC("socket") __attribute__((naked)) int seventh(void)
{
	asm volatile(
	"call 7; r7 = r0; call 7; r8 = r0; r8 &= 7; call 7; r0 &= 255;"
	"if r7 > 100 goto 4f;"
	"r1 = r0; r2 = r0; r3 = r0; r4 = r0; r5 = r0; r6 = r0; goto 5f;"
	"4: r1 = r0; r2 = r0; r3 = r0; r4 = r0; r5 = r0; r6 = r8;"
	"5: if r6 > 7 goto 1f; r8 = r10; r8 += -8; r8 += r0; *(u8 *)(r8 + 0) = 0;"
	"1: r9 = r0; r9 = r1; r9 = r2; r9 = r3; r9 = r4; r9 = r5; r9 = r6; r0 = 0; exit");
}

/* 5.10 to 6.5, early builds: no bits of 3 to 6 are set, so the bounds contradict one another, and
 * stay: these accept it, since 6 is not above 15. Later kernels reset them, and refuse it. */
SEC("socket") __attribute__((naked)) int dead_branch(void)
{
	asm volatile(
	"call 7; r6 = r0; if r6 < 3 goto 1f; if r6 > 6 goto 1f; if r6 & 7 goto 1f;"
	"if r6 <= 15 goto 1f; r0 = 0; r0 = *(u64 *)(r0 + 0); 1: r0 = 0; exit");
}

struct bpf_rb_node { u64 opaque[4]; } __attribute__((aligned(8)));
struct bpf_rb_root { u64 opaque[2]; } __attribute__((aligned(8)));
struct own_node { u64 key; struct bpf_rb_node place; };
// BTF has the structs whose members C uses.
__attribute__((used)) static int declares(struct own_node *node) { return node->key; }

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

struct of_node { struct own_node __attribute__((btf_type_tag("kptr"))) *object; };
struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct of_node);
} nodes SEC(".maps");

/* 7.0.0-44 and 7.2.12: a node that was borrowed under a lock is a pointer after it, on others a
 * number. "R7 pointer arithmetic with *= operator prohibited" */
SEC("syscall") int multiplied_after_lock(void *ctx)
{
	u32 key = 0;
	struct tree *tree = map_lookup_elem(&trees, &key);
	struct of_node *it = map_lookup_elem(&nodes, &key);
	u64 object;
	if (!tree || !it)
		return 0;
	spin_lock(&tree->lock);
	object = (u64)it->object;
	spin_unlock(&tree->lock);
	asm volatile("%0 *= 3" : "+r"(object));
	return 0;
}
