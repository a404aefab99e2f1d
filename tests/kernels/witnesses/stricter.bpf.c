// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What kernels came to check more closely from 7.2 on: atomic loads, packet loads in callbacks, locks, kernel pointers.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define KFUNC extern __attribute__((section(".ksyms"), weak))
#define RELAXED __attribute__((preserve_access_index))
#define TAG(name) __attribute__((btf_type_tag(name)))
#define PROGRAM(section, name, body, ...) \
	SEC(section) __attribute__((naked)) int name(void) { asm volatile(body :: __VA_ARGS__ : "memory"); }

struct task_struct {
	int pid;
} RELAXED;

KFUNC void bpf_rcu_read_lock(void);
KFUNC void bpf_rcu_read_unlock(void);
KFUNC void bpf_preempt_disable(void);
KFUNC void bpf_preempt_enable(void);
KFUNC void bpf_local_irq_save(unsigned long *flags);
KFUNC void bpf_local_irq_restore(unsigned long *flags);
KFUNC struct task_struct *bpf_task_acquire(struct task_struct *task);
KFUNC struct task_struct *bpf_task_from_pid(int pid);
KFUNC void bpf_task_release(struct task_struct *task);
KFUNC void *bpf_rdonly_cast(const void *obj, u32 type);
KFUNC void *bpf_obj_new_impl(u64 type, void *meta);
KFUNC void bpf_obj_drop_impl(void *object, void *meta);

static void *(*const kptr_xchg)(void *place, void *object) = (void *)194;

// BTF has the functions that C refers to.
__attribute__((used)) static int declares(void *it)
{
	return !bpf_rdonly_cast(it, 0);
}

// r6 = load_acquire((u32 *)(r6 + 0))
PROGRAM("socket", ctx_acquired_in_place,
	"r6 = r1; .byte 0xc3; .byte 0x66; .short 0; .long 0x100; r0 = 0; exit", "i"(0))
PROGRAM("socket", ctx_acquired,
	"r6 = r1; .byte 0xc3; .byte 0x67; .short 0; .long 0x100; r0 = 0; exit", "i"(0))

// r0 = load_acquire((u64 *)(r1 + 0)) from memory that may not exist.
PROGRAM("socket", untrusted_acquired,
	"r1 = 0; r2 = 0; call %[cast]; r1 = r0;"
	".byte 0xdb; .byte 0x10; .short 0; .long 0x100;"
	"r0 = 0; exit",
	[cast]"i"(bpf_rdonly_cast))

// The function with the packet load is called by a global one, and that by a callback.
static NOINLINE int loads_packet(void *skb)
{
	asm volatile("r6 = %0; r0 = *(u32 *)skb[0];" :: "r"(skb) : "r0", "r1", "r2", "r3", "r4", "r5", "r6");
	return 0;
}

NOINLINE int calls_loader(struct __sk_buff *skb)
{
	return loads_packet(skb);
}

static NOINLINE int each_round(u32 index, struct __sk_buff **ctx)
{
	calls_loader(*ctx);
	return 0;
}

SEC("socket") int packet_loaded_in_callback(struct __sk_buff *skb)
{
	loop(1, each_round, &skb, 0);
	return 0;
}

struct with_percpu {
	struct task_struct TAG("percpu_kptr") *task;
};
struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct with_percpu);
} percpu_pointers SEC(".maps");

// An object that is not per CPU, where per-CPU objects are kept.
SEC("syscall") int task_as_percpu(void *ctx)
{
	u32 key = 0;
	struct with_percpu *value = map_lookup_elem(&percpu_pointers, &key);
	struct task_struct *task;
	if (!value)
		return 0;
	task = bpf_task_from_pid(1);
	if (!task)
		return 0;
	task = kptr_xchg(&value->task, task);
	if (task)
		bpf_task_release(task);
	return 0;
}

struct pair {
	int low, high;
};
struct flexible {
	u64 count;
	struct pair pairs[];
};

// Beyond the object, in the array without size at its end.
SEC("tc") int beyond_allocated(void *ctx)
{
	struct flexible *it = bpf_obj_new_impl(__builtin_btf_type_id(*(struct flexible *)0, 0), 0);
	if (!it)
		return 0;
	it->pairs[0].high = 42;
	bpf_obj_drop_impl(it, 0);
	return 0;
}

struct locked {
	struct bpf_spin_lock lock;
	int number;
	struct task_struct TAG("kptr") *task;
};
struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 4);
	TYPE(key, u32);
	TYPE(value, struct locked);
} locks SEC(".maps");

static NOINLINE int locks_other(void *map, u32 *key, struct locked *value, struct locked **other)
{
	spin_lock(&value->lock);
	spin_unlock(&(*other)->lock);
	return 0;
}

static NOINLINE int locks_own(void *map, u32 *key, struct locked *value, struct locked **other)
{
	spin_lock(&value->lock);
	spin_unlock(&value->lock);
	return 0;
}

static NOINLINE int each_then_other(void *map, u32 *key, struct locked *value, void *ctx)
{
	for_each_map_elem(&locks, locks_other, &value, 0);
	return 0;
}

// The lock of one element is taken, that of another released.
SEC("tc") int other_lock_released(void *ctx)
{
	for_each_map_elem(&locks, each_then_other, 0, 0);
	return 0;
}

SEC("tc") int own_lock_released(void *ctx)
{
	for_each_map_elem(&locks, locks_own, 0, 0);
	return 0;
}

// A sleepable program loads a kernel pointer in a section, and uses it after or in another.
#define KEEPS(name, before, after, end) \
	SEC("syscall") int name(void *ctx) \
	{ \
		u32 key = 0; \
		unsigned long flags; \
		struct locked *value = map_lookup_elem(&locks, &key); \
		struct task_struct *task; \
		if (!value) \
			return 0; \
		before; \
		task = value->task; \
		after; \
		if (task) { \
			task = bpf_task_acquire(task); \
			if (task) \
				bpf_task_release(task); \
		} \
		end; \
		return 0; \
	}
KEEPS(used_in_rcu, bpf_rcu_read_lock(), , bpf_rcu_read_unlock())
KEEPS(used_in_preempt_off, bpf_preempt_disable(), , bpf_preempt_enable())
KEEPS(used_in_irq_off, bpf_local_irq_save(&flags), , bpf_local_irq_restore(&flags))
KEEPS(used_after_lock, spin_lock(&value->lock), spin_unlock(&value->lock), )
KEEPS(used_after_rcu, bpf_rcu_read_lock(), bpf_rcu_read_unlock(), )
KEEPS(used_after_preempt_off, bpf_preempt_disable(), bpf_preempt_enable(), )
KEEPS(used_after_irq_off, bpf_local_irq_save(&flags), bpf_local_irq_restore(&flags), )
KEEPS(rcu_ends_in_preempt_off, bpf_preempt_disable(); bpf_rcu_read_lock(), bpf_rcu_read_unlock(), bpf_preempt_enable())
KEEPS(rcu_ends_in_irq_off, bpf_local_irq_save(&flags); bpf_rcu_read_lock(), bpf_rcu_read_unlock(), bpf_local_irq_restore(&flags))
KEEPS(preempt_off_ends_in_rcu, bpf_preempt_disable(), bpf_rcu_read_lock(); bpf_preempt_enable(), bpf_rcu_read_unlock())
KEEPS(lock_ends_in_rcu, bpf_rcu_read_lock(); spin_lock(&value->lock), spin_unlock(&value->lock), bpf_rcu_read_unlock())

// Zero by a store of a constant beside zero by a store of a register.
static u8 one_byte[1];
PROGRAM("socket", zeros_of_two_kinds,
	".byte 0x62; .byte 0x0a; .short -4; .long 0;"
	"r0 = 0; *(u32 *)(r10 - 8) = r0;"
	"r1 = %[bytes] ll;"
	"r2 = *(u64 *)(r10 - 8);"
	"r1 += r2;"
	"r0 = *(u8 *)(r1 + 0);"
	"r0 = 0; exit",
	[bytes]"i"(one_byte))

// The buffer of a writable tracepoint is stored on the stack and loaded again.
PROGRAM("raw_tp.w/bpf_test_finish", buffer_spilled,
	"r6 = *(u64 *)(r1 + 0); *(u64 *)(r10 - 8) = r6; r7 = *(u64 *)(r10 - 8);"
	"r0 = 0; *(u64 *)(r7 + 0) = r0; exit", "i"(0))
