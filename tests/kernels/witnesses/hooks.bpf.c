// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Where programs attach, by kernel: hooks that sleep or are disabled, arguments of tracepoints that
// are no plain pointers, members of structs that programs implement.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define PROGRAM(section, name, body) \
	SEC(section) __attribute__((naked)) int name(void) { asm volatile(body ::: "memory"); }
#define NOTHING "r0 = 0; exit"

PROGRAM("lsm.s/bdev_alloc_security", device_made, NOTHING)
PROGRAM("lsm.s/bdev_setintegrity", device_measured, NOTHING)
PROGRAM("lsm.s/bpf_prog_free", program_freed, NOTHING)
PROGRAM("lsm.s/inet_conn_established", connected, NOTHING)
PROGRAM("lsm.s/task_to_inode", task_to_inode, NOTHING)
PROGRAM("lsm.s/inode_removexattr", attribute_removed, NOTHING)
PROGRAM("lsm.s/inode_post_removexattr", attribute_was_removed, NOTHING)
PROGRAM("lsm.s/path_chmod", mode_changed, NOTHING)
PROGRAM("lsm.s/path_unlink", path_unlinked, NOTHING)
PROGRAM("lsm.s/path_notify", path_watched, NOTHING)
PROGRAM("lsm/xfrm_decode_session", session_decoded, NOTHING)
PROGRAM("lsm.s/inode_need_killpriv", privileges_needed, NOTHING)
PROGRAM("lsm/path_chown", owner_changed, NOTHING)
PROGRAM("lsm/hook_returns_errno", no_hook, NOTHING)
PROGRAM("lsm/is_sleepable_hook", no_hook_either, NOTHING)

// bpf_d_path of what is no path: whether it may be called is said first.
#define NAMES(hook) PROGRAM("lsm/" #hook, names_##hook, "r2 = 0; r3 = 0; call 147;" NOTHING)
NAMES(file_open)
NAMES(task_free)
NAMES(bdev_alloc_security)
NAMES(bpf_prog_free)
NAMES(inet_conn_established)
NAMES(task_to_inode)
NAMES(inode_removexattr)
NAMES(path_chmod)
NAMES(bprm_committed_creds)

// An argument of a tracepoint, dereferenced: as it is, or if it is not NULL.
#define DEREFERENCE(point, nth, name) \
	PROGRAM("tp_btf/" point, name, \
		"r1 = *(u64 *)(r1 + 8 * " #nth "); r1 = *(u8 *)(r1 + 0);" NOTHING) \
	PROGRAM("tp_btf/" point, name##_checked, \
		"r1 = *(u64 *)(r1 + 8 * " #nth "); if r1 == 0 goto 1f; r1 = *(u8 *)(r1 + 0); 1:" NOTHING)
DEREFERENCE("sched_process_wait", 0, process_waited_for)
DEREFERENCE("signal_generate", 1, signal_made)
DEREFERENCE("signal_deliver", 1, signal_delivered)
DEREFERENCE("sched_pi_setprio", 1, task_that_waits)
PROGRAM("tp_btf/signal_generate", signal_compared,
	"r1 = *(u64 *)(r1 + 8); if r1 != 1 goto 1f; 1:" NOTHING)

struct sock {
	unsigned long sk_pacing_rate;
} __attribute__((preserve_access_index));
struct tcp_congestion_ops {
	void (*cwnd_event_tx_start)(void *sk);
	char name[16];
};
PROGRAM("struct_ops", starts_to_send, NOTHING)
SEC(".struct_ops") struct tcp_congestion_ops starting = {
	.cwnd_event_tx_start = (void *)starts_to_send,
	.name = "starting",
};

// The same of the kernel's own algorithms.
#define KFUNC extern __attribute__((section(".ksyms")))
KFUNC void cubictcp_cwnd_event_tx_start(struct sock *sk);
KFUNC void dctcp_cwnd_event_tx_start(struct sock *sk);
KFUNC void bbr_cwnd_event_tx_start(struct sock *sk);
#define STARTS(prog, with) \
	SEC("struct_ops") int prog(u64 *ctx) { with((void *)ctx[0]); return 0; } \
	SEC(".struct_ops") struct tcp_congestion_ops ops_##prog = { \
		.cwnd_event_tx_start = (void *)prog, .name = #prog };
STARTS(starts_cubic, cubictcp_cwnd_event_tx_start)
STARTS(starts_dctcp, dctcp_cwnd_event_tx_start)
STARTS(starts_bbr, bbr_cwnd_event_tx_start)

struct sched_ext_ops {
	void (*cgroup_set_bandwidth)(void *cgroup, u64 period, u64 quota, u64 burst);
	void (*sub_caps_updated)(void);
	void (*sub_ecaps_updated)(void);
	int (*sub_attach)(void);
	int (*init_cids)(void);
	char name[128];
};
#define SCHEDULES(section, prog, member) \
	PROGRAM(section, prog, NOTHING) \
	SEC(".struct_ops") struct sched_ext_ops ops_##prog = { .member = (void *)prog, .name = #prog };
SCHEDULES("struct_ops.s", bandwidth_sleeps, cgroup_set_bandwidth)
SCHEDULES("struct_ops", caps_updated, sub_caps_updated)
SCHEDULES("struct_ops", ecaps_updated, sub_ecaps_updated)
SCHEDULES("struct_ops.s", attach_sleeps, sub_attach)
SCHEDULES("struct_ops.s", cids_sleep, init_cids)

// bpf_setsockopt and bpf_getsockopt of SOL_SOCKET, SO_MARK.
#define OPTION(section, name, helper) \
	PROGRAM(section, name, \
		"r2 = 0; *(u64 *)(r10 - 8) = r2; r4 = r10; r4 += -8;" \
		"r2 = 1; r3 = 36; r5 = 4; call " #helper "; r0 = 1; exit")
OPTION("cgroup/sock_create", option_set_when_created, 49)
OPTION("cgroup/sock_create", option_read_when_created, 57)
OPTION("cgroup/sock_release", option_set_when_released, 49)
OPTION("cgroup/post_bind4", option_set_when_bound, 49)
