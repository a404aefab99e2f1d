// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Programs of sched_ext: each kfunc rightly and wrongly used, fields that schedulers may change.
// What kernels said of them stands beside this file.
#include "../../programs/include/skep_bpf.h"

#define KFUNC extern __attribute__((section(".ksyms")))
#define RELAXED __attribute__((preserve_access_index))

typedef _Bool bool;

struct cpumask {
	u64 bits[128];
} RELAXED;
struct cgroup {
	u32 level;
} RELAXED;
struct rq {
	u32 nr_running;
} RELAXED;
struct sched_ext_entity {
	u32 weight;
	u32 flags;
	u64 slice;
	u64 dsq_vtime;
	bool disallow;
} RELAXED;
struct task_struct {
	s32 pid;
	u32 flags;
	struct sched_ext_entity scx;
	const struct cpumask *cpus_ptr;
	struct task_struct *real_parent;
	struct task_struct *last_wakee;
	struct task_struct *group_leader;
} RELAXED;
struct bpf_iter_scx_dsq {
	u64 opaque[6];
} __attribute__((aligned(8)));
struct scx_event_stats {
	s64 SCX_EV_SELECT_CPU_FALLBACK;
	s64 rest[8];
};
enum pid_type { PIDTYPE_PID };
struct scx_exit_info;
struct scx_init_task_args;
struct scx_dump_ctx;
struct scx_cpu_release_args;

struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*running)(struct task_struct *p);
	bool (*yield)(struct task_struct *from, struct task_struct *to);
	void (*set_cpumask)(struct task_struct *p, const struct cpumask *cpumask);
	s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
	void (*dump)(struct scx_dump_ctx *ctx);
	void (*cpu_release)(s32 cpu, struct scx_cpu_release_args *args);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	char name[128];
};

KFUNC void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq, u64 slice, u64 flags);
KFUNC void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 dsq, u64 slice, u64 v, u64 flags);
KFUNC bool scx_bpf_dsq_move_to_local(u64 dsq);
KFUNC void scx_bpf_dsq_move_set_slice(struct bpf_iter_scx_dsq *it__iter, u64 slice);
KFUNC void scx_bpf_dsq_move_set_vtime(struct bpf_iter_scx_dsq *it__iter, u64 vtime);
KFUNC bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it__iter, struct task_struct *p, u64 dsq,
			    u64 flags);
KFUNC bool scx_bpf_dsq_move_vtime(struct bpf_iter_scx_dsq *it__iter, struct task_struct *p,
				  u64 dsq, u64 flags);
KFUNC int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq, u64 flags);
KFUNC struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it);
KFUNC void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it);
KFUNC s32 scx_bpf_create_dsq(u64 dsq, s32 node);
KFUNC void scx_bpf_destroy_dsq(u64 dsq);
KFUNC s32 scx_bpf_dsq_nr_queued(u64 dsq);
KFUNC u32 scx_bpf_dispatch_nr_slots(void);
KFUNC void scx_bpf_dispatch_cancel(void);
KFUNC u32 scx_bpf_reenqueue_local(void);
KFUNC void scx_bpf_kick_cpu(s32 cpu, u64 flags);
KFUNC u64 scx_bpf_now(void);
KFUNC u32 scx_bpf_nr_cpu_ids(void);
KFUNC u32 scx_bpf_cpuperf_cap(s32 cpu);
KFUNC void scx_bpf_cpuperf_set(s32 cpu, u32 perf);
KFUNC bool scx_bpf_test_and_clear_cpu_idle(s32 cpu);
KFUNC const struct cpumask *scx_bpf_get_idle_cpumask(void);
KFUNC const struct cpumask *scx_bpf_get_idle_cpumask_node(int node);
KFUNC const struct cpumask *scx_bpf_get_idle_smtmask(void);
KFUNC const struct cpumask *scx_bpf_get_idle_smtmask_node(int node);
KFUNC const struct cpumask *scx_bpf_get_online_cpumask(void);
KFUNC const struct cpumask *scx_bpf_get_possible_cpumask(void);
KFUNC void scx_bpf_put_cpumask(const struct cpumask *cpumask);
KFUNC void scx_bpf_put_idle_cpumask(const struct cpumask *idle_mask);
KFUNC s32 scx_bpf_pick_idle_cpu(const struct cpumask *allowed, u64 flags);
KFUNC s32 scx_bpf_pick_idle_cpu_node(const struct cpumask *allowed, int node, u64 flags);
KFUNC s32 scx_bpf_pick_any_cpu(const struct cpumask *allowed, u64 flags);
KFUNC s32 scx_bpf_pick_any_cpu_node(const struct cpumask *allowed, int node, u64 flags);
KFUNC s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev, u64 flags, bool *is_idle);
KFUNC s32 scx_bpf_select_cpu_and(struct task_struct *p, s32 prev, u64 wake_flags,
				 const struct cpumask *allowed, u64 flags);
KFUNC s32 scx_bpf_task_cpu(const struct task_struct *p);
KFUNC bool scx_bpf_task_running(const struct task_struct *p);
KFUNC struct cgroup *scx_bpf_task_cgroup(struct task_struct *p);
KFUNC struct rq *scx_bpf_cpu_rq(s32 cpu);
KFUNC struct rq *scx_bpf_locked_rq(void);
KFUNC struct task_struct *scx_bpf_cpu_curr(s32 cpu);
KFUNC void scx_bpf_events(struct scx_event_stats *events, u64 events__sz);
KFUNC void scx_bpf_exit_bstr(s64 code, char *fmt, u64 *data, u32 data__sz);
KFUNC void scx_bpf_error_bstr(char *fmt, u64 *data, u32 data__sz);
KFUNC void scx_bpf_dump_bstr(char *fmt, u64 *data, u32 data__sz);
KFUNC void bpf_cgroup_release(struct cgroup *cgrp);
KFUNC struct task_struct *bpf_task_from_pid(s32 pid);
KFUNC struct task_struct *bpf_task_acquire(struct task_struct *p);
KFUNC void bpf_task_release(struct task_struct *p);
KFUNC int bpf_send_signal_task(struct task_struct *p, int sig, enum pid_type type, u64 value);
KFUNC void bpf_rcu_read_lock(void);
KFUNC void bpf_rcu_read_unlock(void);

char LICENSE[] SEC("license") = "GPL";

#define task(n) ((struct task_struct *)ctx[n])
#define mask(n) ((const struct cpumask *)ctx[n])

// A program for a member, and the struct that names it.
#define PROG(sec, member, prog)                                                                    \
	int prog(u64 *ctx);                                                                        \
	SEC(".struct_ops.link") struct sched_ext_ops ops_##prog = {                                \
		.member = (void *)prog, .name = "rules"};                                          \
	SEC(sec "/" #prog) int prog(u64 *ctx)
#define OPS(member, name) PROG("struct_ops", member, name)
#define SLEEPS(member, name) PROG("struct_ops.s", member, name)

// Both ways to give a kfunc an object that is not trusted, after the way that is.
#define OBJECTS(kfunc, call)                                                                       \
	OPS(enqueue, kfunc##_arg) { struct task_struct *p = task(0); call; return 0; }             \
	OPS(enqueue, kfunc##_rcu) {                                                                \
		struct task_struct *p = task(0)->real_parent;                                      \
		if (p) { call; }                                                                   \
		return 0; }                                                                        \
	OPS(enqueue, kfunc##_maybe) { struct task_struct *p = task(0)->real_parent; call; return 0; } \
	OPS(enqueue, kfunc##_walked) { struct task_struct *p = task(0)->last_wakee; call; return 0; } \
	OPS(enqueue, kfunc##_null) { struct task_struct *p = 0; call; return 0; }                  \
	OPS(enqueue, kfunc##_inside) { struct task_struct *p = (void *)&task(0)->scx; call; return 0; } \
	OPS(dispatch, kfunc##_nullable) { struct task_struct *p = task(1); call; return 0; }       \
	OPS(dispatch, kfunc##_checked) { struct task_struct *p = task(1); if (p) { call; } return 0; } \
	OPS(enqueue, kfunc##_owned) {                                                              \
		struct task_struct *p = bpf_task_from_pid(1);                                      \
		if (p) { call; bpf_task_release(p); }                                              \
		return 0; }                                                                        \
	SLEEPS(init, kfunc##_sleeping) {                                                           \
		struct task_struct *p = bpf_task_from_pid(1), *q;                                  \
		if (!p) return 0;                                                                  \
		q = p; p = q->real_parent;                                                         \
		if (p) { call; }                                                                   \
		bpf_task_release(q);                                                               \
		return 0; }

OBJECTS(insert, scx_bpf_dsq_insert(p, 1, 2, 3))
OBJECTS(insert_vtime, scx_bpf_dsq_insert_vtime(p, 1, 2, 3, 4))
OBJECTS(select_dfl, bool idle = 0; scx_bpf_select_cpu_dfl(p, 1, 2, &idle))
OBJECTS(select_and, scx_bpf_select_cpu_and(p, 1, 2, task(0)->cpus_ptr, 0))
OBJECTS(task_cpu, scx_bpf_task_cpu(p))
OBJECTS(task_running, scx_bpf_task_running(p))
OBJECTS(task_cgroup, bpf_cgroup_release(scx_bpf_task_cgroup(p)))

#define MASKS(kfunc, call)                                                                         \
	OPS(set_cpumask, kfunc##_arg) { const struct cpumask *m = mask(1); call; return 0; }       \
	OPS(enqueue, kfunc##_rcu) { const struct cpumask *m = task(0)->cpus_ptr; call; return 0; } \
	OPS(enqueue, kfunc##_walked) {                                                               \
		const struct cpumask *m = task(0)->last_wakee->cpus_ptr; call; return 0; }         \
	OPS(enqueue, kfunc##_null) { const struct cpumask *m = 0; call; return 0; }                \
	OPS(enqueue, kfunc##_online) {                                                             \
		const struct cpumask *m = scx_bpf_get_online_cpumask();                            \
		call; scx_bpf_put_cpumask(m); return 0; }                                          \
	SEC("syscall") int kfunc##_call(u64 *ctx) {                                               \
		const struct cpumask *m = scx_bpf_get_online_cpumask();                            \
		call; scx_bpf_put_cpumask(m); return 0; }                                          \
	SEC("syscall") int kfunc##_call_rcu(u64 *ctx) {                                           \
		const struct cpumask *m;                                                           \
		struct task_struct *p = bpf_task_from_pid(1);                                      \
		if (!p) return 0;                                                                  \
		m = p->cpus_ptr; call; bpf_task_release(p); return 0; }

MASKS(pick_idle, scx_bpf_pick_idle_cpu(m, 0))
MASKS(pick_idle_node, scx_bpf_pick_idle_cpu_node(m, 0, 0))
MASKS(pick_any, scx_bpf_pick_any_cpu(m, 0))
MASKS(pick_any_node, scx_bpf_pick_any_cpu_node(m, 0, 0))
MASKS(select_and_mask, scx_bpf_select_cpu_and(task(0), 0, 0, m, 0))

#define ACQUIRED(kfunc, get, put)                                                                  \
	OPS(enqueue, kfunc##_kept) { get; return 0; }                                              \
	OPS(enqueue, kfunc##_put) { put(get); return 0; }                                          \
	OPS(enqueue, kfunc##_put_twice) { const struct cpumask *m = get; put(m); put(m); return 0; } \
	SLEEPS(init, kfunc##_asleep) { put(get); return 0; }                                       \
	SEC("syscall") int kfunc##_call(u64 *ctx) { put(get); return 0; }                         \
	SEC("tp_btf/sched_switch") int kfunc##_tp(u64 *ctx) { put(get); return 0; }

ACQUIRED(idle, scx_bpf_get_idle_cpumask(), scx_bpf_put_idle_cpumask)
ACQUIRED(idle_node, scx_bpf_get_idle_cpumask_node(0), scx_bpf_put_idle_cpumask)
ACQUIRED(smt, scx_bpf_get_idle_smtmask(), scx_bpf_put_idle_cpumask)
ACQUIRED(smt_node, scx_bpf_get_idle_smtmask_node(0), scx_bpf_put_idle_cpumask)
ACQUIRED(online, scx_bpf_get_online_cpumask(), scx_bpf_put_cpumask)
ACQUIRED(possible, scx_bpf_get_possible_cpumask(), scx_bpf_put_cpumask)
ACQUIRED(crossed, scx_bpf_get_possible_cpumask(), scx_bpf_put_idle_cpumask)

OPS(set_cpumask, put_of_an_argument) { scx_bpf_put_cpumask(mask(1)); return 0; }
OPS(set_cpumask, put_idle_of_an_argument) { scx_bpf_put_idle_cpumask(mask(1)); return 0; }
OPS(enqueue, cgroup_kept) { scx_bpf_task_cgroup(task(0)); return 0; }
OPS(enqueue, cgroup_read) {
	struct cgroup *c = scx_bpf_task_cgroup(task(0));
	u32 level = c->level;
	bpf_cgroup_release(c);
	return level;
}
OPS(enqueue, cgroup_read_late) {
	struct cgroup *c = scx_bpf_task_cgroup(task(0));
	bpf_cgroup_release(c);
	return c->level;
}

// Results that may be NULL, and what kind of object they are.
#define RESULT(name, type, get, field)                                                             \
	OPS(running, name##_blind) { type *r = get; return r->field; }                             \
	OPS(running, name##_checked) { type *r = get; return r ? r->field : 0; }                   \
	SLEEPS(init, name##_asleep) { type *r = get; return r ? r->field : 0; }                    \
	SEC("syscall") int name##_call(u64 *ctx) { type *r = get; return r ? r->field : 0; }      \
	SEC("syscall") int name##_call_rcu(u64 *ctx) {                                            \
		int v = 0; type *r;                                                                \
		bpf_rcu_read_lock(); r = get; if (r) v = r->field; bpf_rcu_read_unlock(); return v; } \
	SEC("syscall") int name##_after_rcu(u64 *ctx) {                                           \
		int v = 0; type *r;                                                                \
		bpf_rcu_read_lock(); r = get; bpf_rcu_read_unlock(); if (r) v = r->field; return v; } \
	SEC("tp_btf/sched_switch") int name##_tp(u64 *ctx) { type *r = get; return r ? r->field : 0; }

RESULT(cpu_rq, struct rq, scx_bpf_cpu_rq(0), nr_running)
RESULT(locked_rq, struct rq, scx_bpf_locked_rq(), nr_running)
RESULT(cpu_curr, struct task_struct, scx_bpf_cpu_curr(0), pid)

#define CURR(name, use)                                                                            \
	OPS(running, curr_##name) {                                                                \
		struct task_struct *p = scx_bpf_cpu_curr(0);                                       \
		if (p) { use; } return 0; }                                                        \
	OPS(dispatch, next_##name) {                                                               \
		struct bpf_iter_scx_dsq it; struct task_struct *p;                                 \
		bpf_iter_scx_dsq_new(&it, 1, 0);                                                   \
		p = bpf_iter_scx_dsq_next(&it); if (p) { use; }                                    \
		bpf_iter_scx_dsq_destroy(&it); return 0; }
CURR(acquired, struct task_struct *q = bpf_task_acquire(p); if (q) bpf_task_release(q))
CURR(signalled, bpf_send_signal_task(p, 9, 0, 0))
CURR(inserted, scx_bpf_dsq_insert(p, 1, 2, 3))
CURR(changed, p->scx.slice = 1)
CURR(parent, struct task_struct *q = p->real_parent; if (q) scx_bpf_task_cpu(q))

// Iterators over a dispatch queue.
#define LOOP(body)                                                                                 \
	struct bpf_iter_scx_dsq it; struct task_struct *p;                                         \
	bpf_iter_scx_dsq_new(&it, 1, 0);                                                           \
	while ((p = bpf_iter_scx_dsq_next(&it))) { body; }                                         \
	bpf_iter_scx_dsq_destroy(&it);
OPS(dispatch, loop_move) { LOOP(scx_bpf_dsq_move(&it, p, 1, 0)) return 0; }
OPS(dispatch, loop_move_vtime) {
	LOOP(scx_bpf_dsq_move_set_slice(&it, 1); scx_bpf_dsq_move_set_vtime(&it, 1);
	     scx_bpf_dsq_move_vtime(&it, p, 1, 0))
	return 0;
}
OPS(dispatch, loop_count) { u32 n = 0; LOOP(n += p->pid) return n; }
SLEEPS(init, loop_asleep) { u32 n = 0; LOOP(n++) return n; }
SEC("syscall") int loop_call(u64 *ctx) { u32 n = 0; LOOP(n++) return n; }
SEC("syscall") int loop_call_rcu(u64 *ctx) {
	u32 n = 0;
	bpf_rcu_read_lock();
	LOOP(scx_bpf_dsq_move(&it, p, 1, 0))
	bpf_rcu_read_unlock();
	return n;
}
SEC("tp_btf/sched_switch") int loop_tp(u64 *ctx) { u32 n = 0; LOOP(n += p->pid) return n; }
OPS(dispatch, loop_kept) {
	struct bpf_iter_scx_dsq it;
	bpf_iter_scx_dsq_new(&it, 1, 0);
	return 0;
}
OPS(dispatch, moved_before) {
	struct bpf_iter_scx_dsq it;
	scx_bpf_dsq_move_set_slice(&it, 1);
	return 0;
}
OPS(dispatch, moved_after) {
	struct bpf_iter_scx_dsq it;
	bpf_iter_scx_dsq_new(&it, 1, 0);
	bpf_iter_scx_dsq_destroy(&it);
	scx_bpf_dsq_move_set_slice(&it, 1);
	return 0;
}
OPS(dispatch, moved_argument) {
	struct bpf_iter_scx_dsq it;
	bpf_iter_scx_dsq_new(&it, 1, 0);
	struct task_struct *p = task(1);
	if (p) scx_bpf_dsq_move(&it, p, 1, 0);
	bpf_iter_scx_dsq_destroy(&it);
	return 0;
}
OPS(dispatch, moved_walked) {
	struct bpf_iter_scx_dsq it;
	bpf_iter_scx_dsq_new(&it, 1, 0);
	struct task_struct *p = task(1);
	if (p) scx_bpf_dsq_move(&it, p->last_wakee, 1, 0);
	bpf_iter_scx_dsq_destroy(&it);
	return 0;
}

// Memory.
OPS(select_cpu, dfl_unset) { bool idle; return scx_bpf_select_cpu_dfl(task(0), 0, 0, &idle); }
OPS(select_cpu, dfl_null) { return scx_bpf_select_cpu_dfl(task(0), 0, 0, 0); }
OPS(select_cpu, dfl_ctx) { return scx_bpf_select_cpu_dfl(task(0), 0, 0, (void *)ctx); }
OPS(select_cpu, dfl_task) { return scx_bpf_select_cpu_dfl(task(0), 0, 0, (void *)task(0)); }
OPS(running, events_stack) { struct scx_event_stats e; scx_bpf_events(&e, sizeof(e)); return 0; }
OPS(running, events_part) { struct scx_event_stats e; scx_bpf_events(&e, 8); return 0; }
OPS(running, events_over) { struct scx_event_stats e; scx_bpf_events(&e, 1000); return 0; }
OPS(running, events_null) { scx_bpf_events(0, 0); return 0; }
OPS(running, events_any) { struct scx_event_stats e; scx_bpf_events(&e, scx_bpf_nr_cpu_ids() & 7); return 0; }

const char fmt[] = "%d";
char fmt_rw[4] = "%d";
#define BSTR(name, format, data, size)                                                             \
	OPS(running, error_##name) { u64 d[2] = {1, 2}; (void)d; scx_bpf_error_bstr(format, data, size); return 0; } \
	OPS(running, exit_##name) { u64 d[2] = {1, 2}; (void)d; scx_bpf_exit_bstr(1, format, data, size); return 0; } \
	OPS(dump, dump_##name) { u64 d[2] = {1, 2}; (void)d; scx_bpf_dump_bstr(format, data, size); return 0; }
BSTR(constant, (char *)fmt, d, 16)
BSTR(plain, fmt_rw, d, 16)
BSTR(changeable, fmt_rw, d, 8)
BSTR(empty, fmt_rw, 0, 0)
BSTR(missing, fmt_rw, 0, 8)
BSTR(over, fmt_rw, d, 24)
BSTR(formless, 0, d, 8)
BSTR(open, fmt_rw, d, (u32)ctx[0])
OPS(running, error_stack_fmt) { char f[4] = "%d"; scx_bpf_error_bstr(f, 0, 0); return 0; }

// Stores.
OPS(enqueue, store_slice) { task(0)->scx.slice = 1; return 0; }
OPS(enqueue, store_vtime) { task(0)->scx.dsq_vtime = 1; return 0; }
OPS(enqueue, store_disallow) { task(0)->scx.disallow = 1; return 0; }
OPS(enqueue, store_weight) { task(0)->scx.weight = 1; return 0; }
OPS(enqueue, store_flags) { task(0)->scx.flags = 1; return 0; }
OPS(enqueue, store_pid) { task(0)->pid = 1; return 0; }
OPS(enqueue, store_low) { *(volatile u32 *)&task(0)->scx.slice = 1; return 0; }
OPS(enqueue, store_high) { *((volatile u32 *)&task(0)->scx.slice + 1) = 1; return 0; }
OPS(enqueue, store_byte) { *((volatile u8 *)&task(0)->scx.slice + 7) = 1; return 0; }
OPS(enqueue, store_across) { *(volatile u64 *)((u8 *)&task(0)->scx.slice + 4) = 1; return 0; }
OPS(enqueue, store_before) { *(volatile u64 *)((u8 *)&task(0)->scx.slice - 4) = 1; return 0; }
OPS(enqueue, store_past) { *(volatile u64 *)((u8 *)&task(0)->scx.dsq_vtime + 4) = 1; return 0; }
OPS(enqueue, store_disallow_wide) { *(volatile u32 *)&task(0)->scx.disallow = 1; return 0; }
OPS(enqueue, store_pointer) { *(volatile u64 *)&task(0)->scx.slice = (u64)ctx; return 0; }
OPS(enqueue, store_atomic) { __sync_fetch_and_add(&task(0)->scx.slice, 1); return 0; }
OPS(enqueue, store_parent) {
	struct task_struct *p = task(0)->real_parent;
	if (p) p->scx.slice = 1;
	return 0;
}
OPS(enqueue, store_walked) { task(0)->last_wakee->scx.slice = 1; return 0; }
OPS(dispatch, store_nullable) { task(1)->scx.slice = 1; return 0; }
OPS(dispatch, store_checked) { if (task(1)) task(1)->scx.slice = 1; return 0; }
SLEEPS(init_task, store_asleep) { task(0)->scx.disallow = 1; task(0)->scx.slice = 1; return 0; }
OPS(enqueue, store_cgroup) {
	struct cgroup *c = scx_bpf_task_cgroup(task(0));
	c->level = 1;
	bpf_cgroup_release(c);
	return 0;
}
OPS(enqueue, store_owned) {
	struct task_struct *p = bpf_task_from_pid(1);
	if (p) { p->scx.slice = 1; bpf_task_release(p); }
	return 0;
}
SEC("syscall") int store_call(u64 *ctx) {
	struct task_struct *p = bpf_task_from_pid(1);
	if (p) { p->scx.slice = 1; bpf_task_release(p); }
	return 0;
}
SEC("tp_btf/sched_switch") int store_tp(u64 *ctx) { task(1)->scx.slice = 1; return 0; }

// Numbers, and who may sleep.
SLEEPS(init, create_asleep) { return scx_bpf_create_dsq(1, -1); }
OPS(init, create_awake) { return scx_bpf_create_dsq(1, -1); }
SEC("syscall") int create_call(u64 *ctx) { return scx_bpf_create_dsq(1, -1); }
SEC("syscall") int create_rcu(u64 *ctx) {
	bpf_rcu_read_lock();
	scx_bpf_create_dsq(1, -1);
	bpf_rcu_read_unlock();
	return 0;
}
SEC("syscall") int destroy_call(u64 *ctx) { scx_bpf_destroy_dsq(1); return 0; }
OPS(dispatch, numbers) {
	scx_bpf_destroy_dsq(ctx[0]);
	scx_bpf_kick_cpu(ctx[0], 0);
	scx_bpf_cpuperf_set(0, scx_bpf_cpuperf_cap(0));
	scx_bpf_test_and_clear_cpu_idle(scx_bpf_nr_cpu_ids() - 1);
	if (scx_bpf_dispatch_nr_slots() > 1) scx_bpf_dispatch_cancel();
	scx_bpf_reenqueue_local();
	return scx_bpf_dsq_move_to_local(1) + scx_bpf_dsq_nr_queued(1) + scx_bpf_now();
}
SEC("syscall") int insert_call(u64 *ctx) { scx_bpf_dsq_insert(bpf_task_from_pid(1), 1, 2, 3); return 0; }
SEC("tp_btf/sched_switch") int move_tp(u64 *ctx) { scx_bpf_dsq_move_to_local(1); return 0; }
SEC("tp_btf/sched_switch") int kick_tp(u64 *ctx) { scx_bpf_kick_cpu(1, 0); return 0; }
OPS(yield, yield_other) { return task(1) ? task(1)->pid : task(0)->pid; }
OPS(yield, yield_blind) { return task(1)->pid; }
OPS(running, slots_elsewhere) { return scx_bpf_dispatch_nr_slots(); }
OPS(running, cancel_elsewhere) { scx_bpf_dispatch_cancel(); return 0; }
OPS(cpu_release, reenqueue_there) { return scx_bpf_reenqueue_local(); }
OPS(running, reenqueue_elsewhere) { return scx_bpf_reenqueue_local(); }
OPS(enqueue, move_elsewhere) { return scx_bpf_dsq_move_to_local(1); }
SLEEPS(exit, create_late) { return scx_bpf_create_dsq(1, -1); }
