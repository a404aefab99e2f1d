// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What kernels between two stable series do without: mended in both, but not in them.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define KFUNC extern __attribute__((section(".ksyms")))

struct task_struct {
	int pid;
} __attribute__((preserve_access_index));

KFUNC struct task_struct *bpf_task_acquire(struct task_struct *task);
KFUNC void bpf_task_release(struct task_struct *task);
KFUNC void bpf_rcu_read_lock(void);
KFUNC void bpf_rcu_read_unlock(void);

struct bpf_dynptr {
	u64 opaque[2];
} __attribute__((aligned(8)));

static struct task_struct *(*const get_current_task_btf)(void) = (void *)158;
static long (*const strtoul)(const char *buf, u64 len, u64 flags, u64 *to) = (void *)106;
static long (*const reserve_dynptr)(void *ring, u32 size, u64 flags, struct bpf_dynptr *to) = (void *)198;
static void (*const submit_dynptr)(struct bpf_dynptr *dynptr, u64 flags) = (void *)199;

struct {
	int (*type)[27];
	int (*max_entries)[4096];
} ring SEC(".maps");

// A constant of an insn, in the stack.
SEC("tc") __attribute__((naked)) int immediate_stored(void)
{
	asm volatile("r0 = 0; *(u64 *)(r10 - 16) = r0; *(u64 *)(r10 - 24) = r0;"
		".8byte 0x00000001fff80a7a;" // *(u64 *)(r10 - 8) = 1
		"r2 = *(u64 *)(r10 - 8); r8 = r10; r8 += -24; r8 += r2; r0 = *(u8 *)(r8 + 0);"
		"r0 = 0; exit" ::: "memory");
}

SEC("tc") __attribute__((naked)) int half_zero_stored(void)
{
	asm volatile("r0 = 0; *(u64 *)(r10 - 16) = r0; *(u64 *)(r10 - 24) = r0;"
		".8byte 0x00000000fff80a62;" // *(u32 *)(r10 - 8) = 0
		".8byte 0x00000000fffc0a62;" // *(u32 *)(r10 - 4) = 0
		"r2 = *(u64 *)(r10 - 8); r8 = r10; r8 += -24; r8 += r2; r0 = *(u8 *)(r8 + 0);"
		"r0 = 0; exit" ::: "memory");
}

SEC("tc") int dynptr_stored_over(void *ctx)
{
	struct bpf_dynptr dynptr;

	reserve_dynptr(&ring, 8, 0, &dynptr);
	*(volatile u64 *)&dynptr.opaque[1] = 0;
	submit_dynptr(&dynptr, 0);
	return 0;
}

// A number that was not set before it is returned.
SEC("cgroup/sysctl") int number_unset(void *ctx)
{
	char text[8] = "12";
	u64 number;

	strtoul(text, sizeof(text), 0, &number);
	return 1;
}

SEC("tp_btf/task_newtask") int acquired_or_null(void *ctx)
{
	struct task_struct *task = bpf_task_acquire(get_current_task_btf());

	if (task)
		bpf_task_release(task);
	return 0;
}

SEC("tp_btf/task_newtask") int acquired(void *ctx)
{
	bpf_task_release(bpf_task_acquire(get_current_task_btf()));
	return 0;
}

SEC("tp_btf/task_newtask") int locks(void *ctx)
{
	bpf_rcu_read_lock();
	bpf_rcu_read_unlock();
	return 0;
}

SEC("tp_btf/task_newtask") int unlocks(void *ctx)
{
	bpf_rcu_read_unlock();
	return 0;
}
