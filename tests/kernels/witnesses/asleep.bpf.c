// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Helpers that sleep in programs that may sleep, and sections where nothing may: of RCU, without
// preemption, without interrupts.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define KFUNC extern __attribute__((section(".ksyms")))
KFUNC void bpf_rcu_read_lock(void);
KFUNC void bpf_rcu_read_unlock(void);
KFUNC void bpf_preempt_disable(void);
KFUNC void bpf_preempt_enable(void);
KFUNC void bpf_local_irq_save(unsigned long *flags);
KFUNC void bpf_local_irq_restore(unsigned long *flags);
KFUNC int bpf_copy_from_user_str(void *to, u32 size, const void *from, u64 flags);

static long (*const get_stack)(void *ctx, void *to, u32 size, u64 flags) = (void *)67;
static long (*const get_task_stack)(void *task, void *to, u32 size, u64 flags) = (void *)141;
static long (*const copy_from_user)(void *to, u32 size, const void *from) = (void *)148;
static void *(*const get_current_task_btf)(void) = (void *)158;

enum { USER_STACK = 256 };

#define RCU(body) { bpf_rcu_read_lock(); body; bpf_rcu_read_unlock(); }
#define NO_PREEMPTION(body) { bpf_preempt_disable(); body; bpf_preempt_enable(); }
#define NO_INTERRUPTS(body) \
	{ unsigned long flags; bpf_local_irq_save(&flags); body; bpf_local_irq_restore(&flags); }
#define ANYWHERE(body) { body; }
#define IN(section, hook, name, body) \
	SEC(hook) int name(void *ctx) { u64 room[4] = {}; void *task = get_current_task_btf(); section(body) return 0; }

#define STACK get_stack(ctx, room, sizeof(room), USER_STACK)
#define TASK_STACK get_task_stack(task, room, sizeof(room), USER_STACK)

// The stack of the program's context.
IN(NO_PREEMPTION, "uprobe.s", stack_without_preemption, STACK)
IN(RCU, "uprobe.s", stack_in_rcu, STACK)
IN(NO_INTERRUPTS, "uprobe.s", stack_without_interrupts, STACK)
IN(ANYWHERE, "uprobe.s", stack_asleep, STACK)
IN(NO_PREEMPTION, "uprobe", stack_awake, STACK)
IN(NO_PREEMPTION, "tp.s/syscalls/sys_enter_getpid", stack_of_tracepoint, STACK)
IN(NO_PREEMPTION, "raw_tp.s/sys_enter", stack_of_raw_tracepoint, STACK)
IN(NO_PREEMPTION, "tp_btf.s/sys_enter", stack_of_btf_tracepoint, STACK)
IN(NO_PREEMPTION, "fentry.s/bpf_fentry_test1", stack_of_function, STACK)
IN(NO_PREEMPTION, "fexit.s/bpf_fentry_test1", stack_behind_function, STACK)
IN(NO_PREEMPTION, "uprobe.multi.s/a:b", stack_of_many, STACK)

// The stack of a task.
IN(NO_PREEMPTION, "uprobe.s", task_stack_without_preemption, TASK_STACK)
IN(RCU, "uprobe.s", task_stack_in_rcu, TASK_STACK)
IN(NO_INTERRUPTS, "uprobe.s", task_stack_without_interrupts, TASK_STACK)
IN(ANYWHERE, "uprobe.s", task_stack_asleep, TASK_STACK)
IN(NO_PREEMPTION, "uprobe", task_stack_awake, TASK_STACK)
IN(NO_PREEMPTION, "lsm.s/file_open", task_stack_in_hook, TASK_STACK)
IN(NO_PREEMPTION, "iter.s/task", task_stack_in_iterator, TASK_STACK)
IN(NO_PREEMPTION, "syscall", task_stack_in_syscall, TASK_STACK)
IN(NO_PREEMPTION, "fentry.s/bpf_fentry_test1", task_stack_in_function, TASK_STACK)
IN(NO_PREEMPTION, "tp.s/syscalls/sys_enter_getpid", task_stack_in_tracepoint, TASK_STACK)
IN(NO_PREEMPTION, "raw_tp.s/sys_enter", task_stack_in_raw_tracepoint, TASK_STACK)

// In functions that are verified on their own.
NOINLINE int global_copies(int i)
{
	if (i)
		copy_from_user(&i, sizeof(i), 0);
	return i;
}

NOINLINE int global_copies_text(int i)
{
	if (i)
		bpf_copy_from_user_str(&i, sizeof(i), 0, 0);
	return i;
}

NOINLINE int global_calls_on(int i)
{
	if (!i)
		global_copies(i);
	return i;
}

NOINLINE int global_stack(int i)
{
	u64 room[4] = {};

	if (i)
		get_task_stack(get_current_task_btf(), room, sizeof(room), USER_STACK);
	return i;
}

IN(NO_PREEMPTION, "lsm.s/file_open", calls_without_preemption, global_copies(1))
IN(NO_PREEMPTION, "syscall", calls_in_syscall, global_copies(1))
IN(NO_PREEMPTION, "lsm.s/file_open", calls_text_without_preemption, global_copies_text(1))
IN(NO_PREEMPTION, "lsm.s/file_open", calls_on_without_preemption, global_calls_on(1))
IN(RCU, "lsm.s/file_open", calls_in_rcu, global_copies(1))
IN(NO_INTERRUPTS, "lsm.s/file_open", calls_without_interrupts, global_copies(1))
IN(ANYWHERE, "lsm/file_open", calls_awake, global_copies(1))
IN(NO_PREEMPTION, "lsm/file_open", calls_awake_without_preemption, global_copies(1))
IN(RCU, "lsm/file_open", calls_awake_in_rcu, global_copies(1))
IN(ANYWHERE, "lsm.s/file_open", calls_asleep, global_copies(1))
IN(NO_PREEMPTION, "lsm.s/file_open", calls_stack_without_preemption, global_stack(1))
IN(ANYWHERE, "lsm.s/file_open", calls_stack_asleep, global_stack(1))
IN(ANYWHERE, "lsm/file_open", calls_stack_awake, global_stack(1))
IN(NO_PREEMPTION, "lsm/file_open", calls_stack_awake_without_preemption, global_stack(1))
IN(RCU, "lsm/file_open", calls_stack_awake_in_rcu, global_stack(1))
IN(ANYWHERE, "lsm/file_open", copies_awake, copy_from_user(room, 8, 0))
IN(RCU, "lsm/file_open", copies_awake_in_rcu, copy_from_user(room, 8, 0))
IN(NO_PREEMPTION, "lsm/file_open", copies_awake_without_preemption, copy_from_user(room, 8, 0))
IN(ANYWHERE, "lsm/file_open", copies_text_awake, bpf_copy_from_user_str(room, 8, 0, 0))
IN(RCU, "lsm/file_open", copies_text_awake_in_rcu, bpf_copy_from_user_str(room, 8, 0, 0))
IN(NO_PREEMPTION, "lsm/file_open", copies_text_awake_without_preemption, bpf_copy_from_user_str(room, 8, 0, 0))
IN(RCU, "lsm.s/file_open", copies_text_in_rcu, bpf_copy_from_user_str(room, 8, 0, 0))
IN(NO_PREEMPTION, "lsm.s/file_open", copies_text_without_preemption, bpf_copy_from_user_str(room, 8, 0, 0))
IN(NO_INTERRUPTS, "lsm.s/file_open", copies_text_without_interrupts, bpf_copy_from_user_str(room, 8, 0, 0))
IN(RCU, "syscall", copies_in_rcu_and_more, bpf_preempt_disable(); copy_from_user(room, 8, 0); bpf_preempt_enable())
IN(RCU, "syscall", calls_in_rcu_and_more, bpf_preempt_disable(); global_copies(1); bpf_preempt_enable())
