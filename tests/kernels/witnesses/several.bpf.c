// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Iterators that RCU protects, in programs that may sleep; a loop without end; many copies of a number.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define KFUNC extern __attribute__((section(".ksyms")))
KFUNC void bpf_rcu_read_lock(void);
KFUNC void bpf_rcu_read_unlock(void);

struct bpf_iter_task {
	u64 opaque[3];
} __attribute__((aligned(8)));

struct task_struct {
	int pid;
} __attribute__((preserve_access_index));

KFUNC int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task, u32 flags);
KFUNC struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it);
KFUNC void bpf_iter_task_destroy(struct bpf_iter_task *it);

SEC("syscall") int begun_outside(void *ctx)
{
	struct bpf_iter_task it;

	bpf_iter_task_new(&it, 0, 0);
	bpf_iter_task_destroy(&it);
	return 0;
}

SEC("syscall") int used_outside(void *ctx)
{
	struct bpf_iter_task it;

	bpf_iter_task_new(&it, 0, 0);
	bpf_iter_task_next(&it);
	bpf_iter_task_destroy(&it);
	return 0;
}

SEC("syscall") int begun_before(void *ctx)
{
	struct bpf_iter_task it;

	bpf_iter_task_new(&it, 0, 0);
	bpf_rcu_read_lock();
	bpf_iter_task_next(&it);
	bpf_iter_task_destroy(&it);
	bpf_rcu_read_unlock();
	return 0;
}

SEC("syscall") int used_behind(void *ctx)
{
	struct bpf_iter_task it;

	bpf_rcu_read_lock();
	bpf_iter_task_new(&it, 0, 0);
	bpf_iter_task_next(&it);
	bpf_rcu_read_unlock();
	bpf_iter_task_next(&it);
	bpf_iter_task_destroy(&it);
	return 0;
}

SEC("syscall") int ended_behind(void *ctx)
{
	struct bpf_iter_task it;

	bpf_rcu_read_lock();
	bpf_iter_task_new(&it, 0, 0);
	bpf_iter_task_next(&it);
	bpf_rcu_read_unlock();
	bpf_iter_task_destroy(&it);
	return 0;
}

SEC("syscall") int left_inside(void *ctx)
{
	struct bpf_iter_task it;

	bpf_rcu_read_lock();
	bpf_iter_task_new(&it, 0, 0);
	bpf_iter_task_next(&it);
	bpf_iter_task_destroy(&it);
	bpf_rcu_read_unlock();
	return 0;
}

// The first element is kept beyond the section.
SEC("syscall") int kept_behind(void *ctx)
{
	struct task_struct *task;
	struct bpf_iter_task it;
	int pid = 0;

	bpf_rcu_read_lock();
	bpf_iter_task_new(&it, 0, 0);
	task = bpf_iter_task_next(&it);
	bpf_iter_task_destroy(&it);
	bpf_rcu_read_unlock();
	if (task)
		pid = task->pid;
	return pid & 1;
}

// A program that does not sleep is within a section.
SEC("raw_tp/sched_switch") int awake(void *ctx)
{
	struct bpf_iter_task it;

	bpf_iter_task_new(&it, 0, 0);
	bpf_iter_task_next(&it);
	bpf_iter_task_destroy(&it);
	return 0;
}

// Nothing changes while it goes around.
SEC("tc") __attribute__((naked)) int repeats(void)
{
	asm volatile("call 7; r6 = r0; r7 = 0; 1: r0 = 0; if r6 != 0 goto 1b; exit" ::: "memory");
}

// Read after a jump that bounds the first of them.
#define TWO_WRITTEN "r0 = 0; *(u64 *)(r10 - 8) = r0; *(u64 *)(r10 - 16) = r0;"
#define ONE_READ "r8 = r10; r8 += -16; r8 += r7; r0 = *(u8 *)(r8 + 0);"

SEC("tc") __attribute__((naked)) int many_copies(void)
{
	asm volatile("call 7; r1 = r0; r2 = r0; r3 = r0; r4 = r0; r5 = r0; r6 = r0; r7 = r0;"
		"if r0 > 7 goto 1f;" TWO_WRITTEN ONE_READ
		"r0 += r1; r0 += r2; r0 += r3; r0 += r4; r0 += r5; r0 += r6;"
		"1: r0 = 0; exit" ::: "memory");
}

// Some are in the stack.
SEC("tc") __attribute__((naked)) int many_on_stack(void)
{
	asm volatile("call 7; r7 = r0;"
		"*(u64 *)(r10 - 24) = r7; *(u64 *)(r10 - 32) = r7; *(u64 *)(r10 - 40) = r7;"
		"*(u64 *)(r10 - 48) = r7; *(u64 *)(r10 - 56) = r7; *(u64 *)(r10 - 64) = r7;"
		"if r0 > 7 goto 1f;" TWO_WRITTEN
		"r7 = *(u64 *)(r10 - 64);" ONE_READ
		"1: r0 = 0; exit" ::: "memory");
}

// Two lists of them: both operands have copies.
SEC("tc") __attribute__((naked)) int many_of_both(void)
{
	asm volatile("call 7; r6 = r0; r6 &= 7; call 7; r1 = r0; r2 = r0; r3 = r0; r4 = r0;"
		"r5 = r6; r7 = r6; r8 = r6; r9 = r6;"
		"if r0 > r6 goto 1f;" TWO_WRITTEN
		"r0 = r10; r0 += -16; r0 += r4; r0 = *(u8 *)(r0 + 0);"
		"r0 += r1; r0 += r2; r0 += r3; r0 += r5; r0 += r7; r0 += r8; r0 += r9;"
		"1: r0 = 0; exit" ::: "memory");
}

// A seventh is bounded by the jump; the first is then copied, and bounded once more.
SEC("tc") __attribute__((naked)) int seventh_loses(void)
{
	asm volatile("call 7; r1 = r0; r2 = r0; r3 = r0; r4 = r0; r5 = r0; r6 = r0; r7 = r0;"
		"if r0 > 100 goto 1f;"
		"if r7 > 7 goto 1f;" TWO_WRITTEN
		"r7 = r6; " ONE_READ
		"r0 += r1; r0 += r2; r0 += r3; r0 += r4; r0 += r5;"
		"1: r0 = 0; exit" ::: "memory");
}
