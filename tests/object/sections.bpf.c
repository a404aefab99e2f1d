/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Section names: type, attach type and flags of a program, by the whole name or its stem. */
#include "include/skep_bpf.h"

#define PROGRAM(section, name) \
	SEC(section) int name(void *ctx) { return 0; }

PROGRAM("socket", socket_filter_prog)
PROGRAM("sk_reuseport/migrate", reuseport_migrate_prog)
PROGRAM("kprobe/do_nanosleep+0x10", kprobe_at_offset_prog)
PROGRAM("kprobe.session/x*", kprobe_session_prog)
PROGRAM("uprobe.s//bin/true:main", uprobe_sleepable_prog)
PROGRAM("uprobe.multi//bin/true:m*", uprobe_multi_prog)
PROGRAM("ksyscall/nanosleep", ksyscall_prog)
PROGRAM("usdt//bin/true:a:b", usdt_prog)
PROGRAM("tracepoint/sched/sched_switch", tracepoint_prog)
PROGRAM("tp/sched/sched_switch", tracepoint_short_prog)
PROGRAM("raw_tp.w/sys_enter", raw_tp_writable_prog)
PROGRAM("tcx/ingress", tcx_ingress_prog)
PROGRAM("classifier", classifier_prog)
PROGRAM("action", action_prog)
PROGRAM("netkit/peer", netkit_peer_prog)
PROGRAM("xdp.frags/cpumap", xdp_frags_cpumap_prog)
PROGRAM("xdp/devmap", xdp_devmap_prog)
PROGRAM("xdp", xdp_prog)
PROGRAM("perf_event", perf_event_prog)
PROGRAM("lwt_seg6local", lwt_seg6local_prog)
PROGRAM("sockops", sockops_prog)
PROGRAM("sk_skb/stream_parser", sk_skb_parser_prog)
PROGRAM("sk_skb", sk_skb_prog)
PROGRAM("sk_msg", sk_msg_prog)
PROGRAM("lirc_mode2", lirc_mode2_prog)
PROGRAM("flow_dissector", flow_dissector_prog)
PROGRAM("cgroup_skb/egress", cgroup_skb_egress_prog)
PROGRAM("cgroup/skb", cgroup_skb_prog)
PROGRAM("cgroup/sock", cgroup_sock_prog)
PROGRAM("cgroup/connect_unix", connect_unix_prog)
PROGRAM("cgroup/getsockname6", getsockname6_prog)
PROGRAM("cgroup/setsockopt", setsockopt_prog)
PROGRAM("cgroup/dev", cgroup_dev_prog)
PROGRAM("cgroup/sysctl", cgroup_sysctl_prog)
PROGRAM("syscall", syscall_prog)
PROGRAM("sk_lookup", sk_lookup_prog)
PROGRAM("netfilter", netfilter_prog)

LICENSE_GPL;
