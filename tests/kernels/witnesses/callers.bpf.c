// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Which programs may call which functions of the kernel.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define KFUNC extern __attribute__((section(".ksyms")))
#define RELAXED __attribute__((preserve_access_index))

struct cgroup {
	int level;
} RELAXED;
struct task_struct {
	int pid;
} RELAXED;
struct bpf_key {
	void *key;
} RELAXED;

KFUNC void cgroup_rstat_updated(struct cgroup *cgroup, int cpu);
KFUNC struct task_struct *bpf_task_from_pid(int pid);
KFUNC void bpf_task_release(struct task_struct *task);
KFUNC struct bpf_key *bpf_lookup_system_key(u64 id);
KFUNC void bpf_key_put(struct bpf_key *key);

// Told by the words of the refusal.
SEC("tp/syscalls/sys_enter_getpid") int tracepoint_calls(void *ctx)
{
	cgroup_rstat_updated(0, 0);
	return 0;
}

SEC("sockops") int sock_ops_calls(void *ctx)
{
	struct task_struct *task = bpf_task_from_pid(1);
	if (task)
		bpf_task_release(task);
	return 0;
}

SEC("syscall") int syscall_takes_key(void *ctx)
{
	struct bpf_key *key = bpf_lookup_system_key(0);
	if (key)
		bpf_key_put(key);
	return 0;
}

// Not what other raw tracepoint programs may call, on any kernel.
SEC("raw_tp.w/bpf_test_finish") int writable_tracepoint_calls(void *ctx)
{
	struct task_struct *task = bpf_task_from_pid(1);
	if (task)
		bpf_task_release(task);
	return 0;
}

SEC("cgroup/sock_create") __attribute__((naked)) int sets_options_of_new(void)
{
	asm volatile("*(u64 *)(r10 - 8) = 0;"
		     "r2 = 0; r3 = 0; r4 = r10; r4 += -8; r5 = 8;"
		     "call 49;" /* bpf_setsockopt */
		     "r0 = 1;"
		     "exit" ::: "memory");
}
SEC("cgroup/sock_create") __attribute__((naked)) int gets_options_of_new(void)
{
	asm volatile("r2 = 0; r3 = 0; r4 = r10; r4 += -8; r5 = 8;"
		     "call 57;" /* bpf_getsockopt */
		     "r0 = 1;"
		     "exit" ::: "memory");
}

// Told by the words of the refusal.
SEC("tp_btf/sched_switch") __attribute__((naked)) int tells_function(void)
{
	asm volatile("call 173;" /* bpf_get_func_ip */
		     "r0 = 0;"
		     "exit" ::: "memory");
}
