// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Functions of the kernel, and the objects that they return.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define RELAXED __attribute__((preserve_access_index))
#define KFUNC extern __attribute__((section(".ksyms")))

struct task_struct {
	struct task_struct *real_parent;
} RELAXED;
struct bpf_cpumask {
	int usage;
} RELAXED;
struct bpf_iter_num {
	u64 opaque[1];
} __attribute__((aligned(8)));

KFUNC struct bpf_cpumask *bpf_cpumask_create(void);
KFUNC void bpf_cpumask_release(struct bpf_cpumask *mask);
KFUNC void bpf_rcu_read_lock(void);
KFUNC void bpf_rcu_read_unlock(void);
KFUNC void bpf_preempt_disable(void);
KFUNC void bpf_preempt_enable(void);
KFUNC void bpf_throw(u64 cookie);
KFUNC struct task_struct *bpf_task_acquire(struct task_struct *p);
KFUNC void bpf_task_release(struct task_struct *p);
KFUNC int bpf_iter_num_new(struct bpf_iter_num *it, int from, int to);
KFUNC int *bpf_iter_num_next(struct bpf_iter_num *it);
KFUNC void bpf_iter_num_destroy(struct bpf_iter_num *it);
KFUNC void *bpf_obj_new_impl(u64 type, void *meta);
KFUNC void bpf_obj_drop_impl(void *object, void *meta);

SEC("raw_tp/sys_enter") int makes_mask(void *ctx)
{
	struct bpf_cpumask *mask = bpf_cpumask_create();
	if (mask)
		bpf_cpumask_release(mask);
	return 0;
}

SEC("tp_btf/task_newtask") int locks_twice(u64 *ctx)
{
	bpf_rcu_read_lock();
	bpf_rcu_read_lock();
	bpf_rcu_read_unlock();
	bpf_rcu_read_unlock();
	return 0;
}

// What was read in a section is used behind its end.
SEC("tp_btf/task_newtask") int used_after_section(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0], *parent, *own;
	bpf_rcu_read_lock();
	parent = task->real_parent;
	bpf_rcu_read_unlock();
	if (!parent)
		return 0;
	own = bpf_task_acquire(parent);
	if (own)
		bpf_task_release(own);
	return 0;
}

static NOINLINE int throws_in_section(u64 cookie)
{
	bpf_rcu_read_lock();
	bpf_throw(cookie);
	bpf_rcu_read_unlock();
	return 0;
}
SEC("tc") int throws(struct __sk_buff *skb)
{
	return throws_in_section(skb->mark);
}

__attribute__((noinline)) int does_nothing(struct __sk_buff *skb)
{
	asm volatile("" : "+r"(skb));
	return 0;
}
SEC("tc") int calls_in_section(struct __sk_buff *skb)
{
	bpf_preempt_disable();
	does_nothing(skb);
	bpf_preempt_enable();
	return 0;
}

struct holder {
	struct task_struct __attribute__((btf_type_tag("kptr"))) *task;
};

SEC("tp_btf/task_newtask") int drops_holder(u64 *ctx)
{
	struct holder *it = bpf_obj_new_impl(__builtin_btf_type_id(*(struct holder *)0, 0), 0);
	if (it)
		bpf_obj_drop_impl(it, 0);
	return 0;
}

SEC("socket") int goes_round(void *ctx)
{
	struct bpf_iter_num it;
	bpf_iter_num_new(&it, 0, 10);
	while (bpf_iter_num_next(&it))
		;
	bpf_iter_num_destroy(&it);
	return 0;
}

// The same, with a register that each round sets and nothing reads.
SEC("socket") __attribute__((naked)) int set_in_rounds(void)
{
	asm volatile("r7 = 0;"
		     "r1 = r10; r1 += -8; r2 = 0; r3 = 10;"
		     "call %[new];"
		     "1: r1 = r10; r1 += -8;"
		     "call %[next];"
		     "if r0 == 0 goto 2f;"
		     "r7 = 5;"
		     "goto 1b;"
		     "2: r1 = r10; r1 += -8;"
		     "call %[destroy];"
		     "r0 = 0;"
		     "exit" :: [new] "i"(bpf_iter_num_new), [next] "i"(bpf_iter_num_next),
		     [destroy] "i"(bpf_iter_num_destroy) : "memory");
}

struct pointer {
	struct task_struct __attribute__((btf_type_tag("kptr"))) *task;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct pointer);
} pointers SEC(".maps");

SEC("tp_btf/task_newtask") int stores_task(u64 *ctx)
{
	u32 key = 0;
	struct pointer *it = map_lookup_elem(&pointers, &key);
	if (it)
		it->task = (void *)ctx[0];
	return 0;
}

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u64[8]);
} values SEC(".maps");

// A dynptr that is not used again, or none.
SEC("tc") __attribute__((naked)) int dead_dynptr(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "*(u64 *)(r10 - 24) = r1;"
		     "*(u64 *)(r10 - 32) = r1;"
		     "r2 = r10; r2 += -8; r1 = %[map] ll; call 1;"
		     "r6 = r0;"
		     "if r6 == 0 goto 4f;"
		     "call 7;"
		     "if r0 == 0 goto 1f;"
		     "r1 = r6; r2 = 16; r3 = 0; r4 = r10; r4 += -32; call 197;"
		     "r0 = 0;"
		     "1: r9 = 0; r0 = 0; if r9 != 0 goto 2f; r9 = 1; r9 = 2; r9 = 3; r9 = 4; if r9 == 0 goto 2f; r9 = 0; r9 = 0;"
		     "2: if r9 == 7 goto 3f;"
		     "3: r3 = 1; r3 = 2; r3 = 3; r3 = 4; r3 = 5; r3 = 6; r3 = 7; r3 = 8;"
		     "4: r0 = 0;"
		     "exit" :: [map] "i"(&values) : "memory");
}

// What is released is no object of the kind, or none that there is a reference to; what is taken a
// reference to is no object.
#define GIVES(name, function, argument) \
	SEC("tp_btf/task_newtask") int name(u64 *ctx) \
	{ \
		u64 local = 0; \
		asm volatile("" :: "r"(&local) : "memory"); \
		function((void *)(argument)); \
		return 0; \
	}
GIVES(releases_stack, bpf_task_release, &local)
GIVES(releases_context, bpf_task_release, ctx)
GIVES(releases_number, bpf_task_release, ctx[1])
GIVES(releases_null, bpf_task_release, 0)
GIVES(releases_argument, bpf_task_release, ctx[0])
GIVES(releases_parent, bpf_task_release, ((struct task_struct *)ctx[0])->real_parent)
GIVES(releases_mask_in_stack, bpf_cpumask_release, &local)
GIVES(releases_argument_as_mask, bpf_cpumask_release, ctx[0])
GIVES(acquires_stack, bpf_task_acquire, &local)
GIVES(acquires_context, bpf_task_acquire, ctx)
GIVES(acquires_number, bpf_task_acquire, ctx[1])
