// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Global functions that the callback of a work queue calls, which may sleep, and the program, which
// may not.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define KFUNC extern __attribute__((section(".ksyms"), weak))

struct bpf_wq { u64 opaque[2]; } __attribute__((aligned(8)));
struct task_struct { int pid; } __attribute__((preserve_access_index));

KFUNC int bpf_wq_init(struct bpf_wq *wq, void *map, unsigned flags);
// Two names of one function: some kernels have the first, others the second.
KFUNC int bpf_wq_set_callback(struct bpf_wq *wq, int (*callback)(void *, int *, void *),
			      unsigned flags);
KFUNC int bpf_wq_set_callback_impl(struct bpf_wq *wq, int (*callback)(void *, int *, void *),
				   unsigned flags, void *aux);
KFUNC struct task_struct *bpf_task_acquire(struct task_struct *task);
KFUNC void bpf_task_release(struct task_struct *task);
KFUNC void bpf_rcu_read_lock(void);
KFUNC void bpf_rcu_read_unlock(void);

struct work {
	struct bpf_wq wq;
	struct task_struct __attribute__((btf_type_tag("kptr"))) *task;
};
struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct work);
} works SEC(".maps");

// Only valid in an RCU section.
#define ACQUIRES(name)                                          \
	NOINLINE int name(void)                                 \
	{                                                       \
		struct task_struct *task;                       \
		u32 key = 0;                                    \
		struct work *work = map_lookup_elem(&works, &key); \
		if (!work || !work->task)                       \
			return 0;                               \
		task = bpf_task_acquire(work->task);            \
		if (task)                                       \
			bpf_task_release(task);                 \
		return 0;                                       \
	}

#define STARTS(callback)                                        \
	u32 key = 0;                                            \
	struct work *work = map_lookup_elem(&works, &key);      \
	if (!work)                                              \
		return 0;                                       \
	bpf_wq_init(&work->wq, &works, 0);                      \
	if (bpf_wq_set_callback)                                \
		bpf_wq_set_callback(&work->wq, callback, 0);    \
	else                                                    \
		bpf_wq_set_callback_impl(&work->wq, callback, 0, 0)

ACQUIRES(acquires_for_callback)
ACQUIRES(acquires_for_both)
ACQUIRES(acquires_for_program)
ACQUIRES(acquires_in_section)

static int calls_first(void *map, int *key, void *value)
{
	return acquires_for_callback();
}
static int calls_second(void *map, int *key, void *value)
{
	return acquires_for_both();
}
static int calls_nothing(void *map, int *key, void *value)
{
	return 0;
}
static int calls_protected(void *map, int *key, void *value)
{
	bpf_rcu_read_lock();
	acquires_in_section();
	bpf_rcu_read_unlock();
	return 0;
}

SEC("tc") int called_by_callback(void *ctx)
{
	STARTS(calls_first);
	return 0;
}

SEC("tc") int called_by_both(void *ctx)
{
	acquires_for_both();
	STARTS(calls_second);
	return 0;
}

SEC("tc") int called_by_program(void *ctx)
{
	acquires_for_program();
	STARTS(calls_nothing);
	return 0;
}

SEC("tc") int called_in_section(void *ctx)
{
	STARTS(calls_protected);
	return 0;
}
