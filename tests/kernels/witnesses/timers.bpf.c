// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What holds in the callback of a timer, which does not sleep even if its program does.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define RELAXED __attribute__((preserve_access_index))
#define KFUNC extern __attribute__((section(".ksyms")))

struct task_struct {
	struct task_struct *real_parent;
	int pid;
} RELAXED;
struct bpf_timer {
	u64 opaque[2];
} __attribute__((aligned(8)));

KFUNC void bpf_rcu_read_lock(void);
KFUNC void bpf_rcu_read_unlock(void);
KFUNC struct task_struct *bpf_task_acquire(struct task_struct *p);
KFUNC void bpf_task_release(struct task_struct *p);

static long (*const timer_init)(struct bpf_timer *timer, void *map, u64 flags) = (void *)169;
static long (*const timer_set_callback)(struct bpf_timer *timer, void *callback) = (void *)170;

struct value {
	struct bpf_timer timer;
	struct task_struct __attribute__((btf_type_tag("kptr"))) *task;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct value);
} values SEC(".maps");

#define TIMER(section, name) \
	static int in_##name(void *map, u32 *key, struct value *value); \
	SEC(section) int name(void *ctx) \
	{ \
		u32 key = 0; \
		struct value *value = map_lookup_elem(&values, &key); \
		if (!value || timer_init(&value->timer, &values, 1)) \
			return 0; \
		timer_set_callback(&value->timer, in_##name); \
		return 0; \
	} \
	static __attribute__((noinline)) int in_##name(void *map, u32 *key, struct value *value)

// The callback is a section of its own: an object in the map stays valid.
TIMER("syscall", acquires)
{
	struct task_struct *task = value->task;
	if (task)
		task = bpf_task_acquire(task);
	if (task)
		bpf_task_release(task);
	return 0;
}

TIMER("tc", acquires_awake)
{
	struct task_struct *task = value->task;
	if (task)
		task = bpf_task_acquire(task);
	if (task)
		bpf_task_release(task);
	return 0;
}

// Behind a section within it, too.
TIMER("syscall", acquires_behind)
{
	struct task_struct *task;
	bpf_rcu_read_lock();
	task = value->task;
	bpf_rcu_read_unlock();
	if (task)
		task = bpf_task_acquire(task);
	if (task)
		bpf_task_release(task);
	return 0;
}

TIMER("tc", acquires_behind_awake)
{
	struct task_struct *task;
	bpf_rcu_read_lock();
	task = value->task;
	bpf_rcu_read_unlock();
	if (task)
		task = bpf_task_acquire(task);
	if (task)
		bpf_task_release(task);
	return 0;
}

TIMER("syscall", acquires_parent)
{
	struct task_struct *task = value->task, *parent;
	if (!task)
		return 0;
	parent = task->real_parent;
	if (parent)
		parent = bpf_task_acquire(parent);
	if (parent)
		bpf_task_release(parent);
	return 0;
}

TIMER("syscall", reads)
{
	struct task_struct *task = value->task;
	return task && task->pid == 7 ? 0 : 0;
}

// The program itself is not.
SEC("syscall") int acquires_outside(void *ctx)
{
	u32 key = 0;
	struct value *value = map_lookup_elem(&values, &key);
	struct task_struct *task;
	if (!value)
		return 0;
	task = value->task;
	if (task)
		task = bpf_task_acquire(task);
	if (task)
		bpf_task_release(task);
	return 0;
}
