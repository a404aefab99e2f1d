// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Results of callbacks where two paths meet, sums whose link with another one is read again, and
// kfuncs for tasks in programs that neither trace nor schedule.
#include "../../programs/include/skep_bpf.h"

#define KFUNC extern __attribute__((section(".ksyms"), weak))

char LICENSE[] SEC("license") = "GPL";

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 4);
	TYPE(key, u32);
	TYPE(value, u64);
} values SEC(".maps");

// The result is `unlike` if the value is 5, and else 0. A state is saved where the two meet.
#define CALLBACK(name, unlike)                                                              \
	static NOINLINE long name(void *map, u32 *key, u64 *value, void *ctx) \
	{                                                                                   \
		register long result asm("r0");                                             \
                                                                                            \
		asm volatile("%0 = " unlike "; if %1 == 5 goto 1f; %0 = 0;"                 \
			     "if %1 == 77 goto +0; if %1 == 79 goto +0;"                    \
			     "r2 = 1; r2 = 2; r2 = 3; r2 = 4; r2 = 5; r2 = 6; r2 = 7; r2 = 8;" \
			     "r4 = 0; r2 = 9; 1: r2 = 0; r5 = 0;"                           \
			     : "=&r"(result) : "r"(*value) : "r2", "r4", "r5");             \
		return result;                                                              \
	}

CALLBACK(returns_one, "1")
CALLBACK(returns_two, "2")

SEC("socket") int like_result(void *skb)
{
	for_each_map_elem(&values, returns_one, 0, 0);
	return 0;
}

SEC("socket") int unlike_result(void *skb)
{
	for_each_map_elem(&values, returns_two, 0, 0);
	return 0;
}

#define PROGRAM(name, compared)                                                             \
	SEC("socket") __attribute__((naked)) int name(void)                                 \
	{                                                                                   \
		asm volatile("call 7; w8 = w0; r9 = r8; r9 += 66;" compared                 \
			     "r8 += 2; if r9 > 70 goto 9f; if r9 < 66 goto 9f;"             \
			     "r1 = r10; r1 += -16; r1 += r8; *(u8 *)(r1 + 0) = 0;"          \
			     "9: r0 = 0; exit" ::: "memory");                               \
	}

PROGRAM(sum_of_sum, "")
PROGRAM(sum_compared_with_itself, "if r9 < r9 goto 9f;")
PROGRAM(sum_compared_with_number, "if r9 < 1 goto 9f;")
PROGRAM(sum_compared_with_its_origin, "if r9 < r8 goto 9f;")
PROGRAM(origin_compared_with_its_sum, "if r8 == r9 goto 9f;")

struct task_struct { int pid; } __attribute__((preserve_access_index));
KFUNC struct task_struct *bpf_task_from_pid(s32 pid);
KFUNC void bpf_task_release(struct task_struct *task);

#define TAKES_TASK(section, name)                                    \
	SEC(section) int name(void *ctx)                             \
	{                                                            \
		struct task_struct *task = bpf_task_from_pid(1);     \
                                                                     \
		if (task)                                            \
			bpf_task_release(task);                      \
		return 1;                                            \
	}

TAKES_TASK("xdp", task_in_xdp)
TAKES_TASK("cgroup_skb/egress", task_in_cgroup)

static struct task_struct *(*const get_current_task_btf)(void) = (void *)158;
KFUNC s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev, u64 flags, _Bool *is_idle);

SEC("syscall") int selects_outside(void *ctx)
{
	_Bool idle;

	scx_bpf_select_cpu_dfl(get_current_task_btf(), 0, 0, &idle);
	return 0;
}
