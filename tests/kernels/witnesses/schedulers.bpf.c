// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What schedulers may do, of ../sched_ext/rules.bpf.c.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define KFUNC extern __attribute__((section(".ksyms")))
#define RELAXED __attribute__((preserve_access_index))

typedef _Bool bool;

struct rq {
	u32 nr_running;
} RELAXED;
struct sched_ext_entity {
	u64 slice;
} RELAXED;
struct task_struct {
	struct sched_ext_entity scx;
	struct task_struct *last_wakee;
} RELAXED;

struct sched_ext_ops {
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*running)(struct task_struct *p);
	char name[128];
};

KFUNC u32 scx_bpf_dispatch_nr_slots(void);
KFUNC s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev, u64 flags, bool *is_idle);
KFUNC struct rq *scx_bpf_cpu_rq(s32 cpu);

#define PROG(member, prog)                                                                         \
	int prog(u64 *ctx);                                                                        \
	SEC(".struct_ops.link") struct sched_ext_ops ops_##prog = {                                \
		.member = (void *)prog, .name = "rules"};                                          \
	SEC("struct_ops/" #prog) int prog(u64 *ctx)

PROG(running, reads_queue)
{
	struct rq *queue = scx_bpf_cpu_rq(0);
	return queue ? queue->nr_running : 0;
}

PROG(enqueue, stores_slice)
{
	struct task_struct *task = (void *)ctx[0];
	task->last_wakee->scx.slice = 1;
	return 0;
}

PROG(dispatch, selects_elsewhere)
{
	struct task_struct *task = (void *)ctx[1];
	bool idle = 0;
	if (task)
		scx_bpf_select_cpu_dfl(task, 1, 2, &idle);
	return 0;
}

PROG(enqueue, counts_elsewhere)
{
	scx_bpf_dispatch_nr_slots();
	return 0;
}
