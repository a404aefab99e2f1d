//! Program types, with their numbers and names.
//!
//! Kernel: `enum bpf_prog_type` (include/uapi/linux/bpf.h), 6.18, read from the kernel's own BTF.

use crate::abi_enum::{abi_enum, abi_enum_spelled};

abi_enum_spelled! {
    /// `enum bpf_prog_type`: what a program is for. The discriminant is the number of the ABI.
    #[derive(Default)]
    pub enum ProgType {
        #[default]
        Unspec = 0, "unspec", "BPF_PROG_TYPE_UNSPEC";
        SocketFilter = 1, "socket_filter", "BPF_PROG_TYPE_SOCKET_FILTER";
        Kprobe = 2, "kprobe", "BPF_PROG_TYPE_KPROBE";
        SchedCls = 3, "sched_cls", "BPF_PROG_TYPE_SCHED_CLS";
        SchedAct = 4, "sched_act", "BPF_PROG_TYPE_SCHED_ACT";
        Tracepoint = 5, "tracepoint", "BPF_PROG_TYPE_TRACEPOINT";
        Xdp = 6, "xdp", "BPF_PROG_TYPE_XDP";
        PerfEvent = 7, "perf_event", "BPF_PROG_TYPE_PERF_EVENT";
        CgroupSkb = 8, "cgroup_skb", "BPF_PROG_TYPE_CGROUP_SKB";
        CgroupSock = 9, "cgroup_sock", "BPF_PROG_TYPE_CGROUP_SOCK";
        LwtIn = 10, "lwt_in", "BPF_PROG_TYPE_LWT_IN";
        LwtOut = 11, "lwt_out", "BPF_PROG_TYPE_LWT_OUT";
        LwtXmit = 12, "lwt_xmit", "BPF_PROG_TYPE_LWT_XMIT";
        SockOps = 13, "sock_ops", "BPF_PROG_TYPE_SOCK_OPS";
        SkSkb = 14, "sk_skb", "BPF_PROG_TYPE_SK_SKB";
        CgroupDevice = 15, "cgroup_device", "BPF_PROG_TYPE_CGROUP_DEVICE";
        SkMsg = 16, "sk_msg", "BPF_PROG_TYPE_SK_MSG";
        RawTracepoint = 17, "raw_tracepoint", "BPF_PROG_TYPE_RAW_TRACEPOINT";
        CgroupSockAddr = 18, "cgroup_sock_addr", "BPF_PROG_TYPE_CGROUP_SOCK_ADDR";
        LwtSeg6local = 19, "lwt_seg6local", "BPF_PROG_TYPE_LWT_SEG6LOCAL";
        LircMode2 = 20, "lirc_mode2", "BPF_PROG_TYPE_LIRC_MODE2";
        SkReuseport = 21, "sk_reuseport", "BPF_PROG_TYPE_SK_REUSEPORT";
        FlowDissector = 22, "flow_dissector", "BPF_PROG_TYPE_FLOW_DISSECTOR";
        CgroupSysctl = 23, "cgroup_sysctl", "BPF_PROG_TYPE_CGROUP_SYSCTL";
        RawTracepointWritable = 24, "raw_tracepoint_writable", "BPF_PROG_TYPE_RAW_TRACEPOINT_WRITABLE";
        CgroupSockopt = 25, "cgroup_sockopt", "BPF_PROG_TYPE_CGROUP_SOCKOPT";
        Tracing = 26, "tracing", "BPF_PROG_TYPE_TRACING";
        StructOps = 27, "struct_ops", "BPF_PROG_TYPE_STRUCT_OPS";
        Ext = 28, "ext", "BPF_PROG_TYPE_EXT";
        Lsm = 29, "lsm", "BPF_PROG_TYPE_LSM";
        SkLookup = 30, "sk_lookup", "BPF_PROG_TYPE_SK_LOOKUP";
        Syscall = 31, "syscall", "BPF_PROG_TYPE_SYSCALL";
        Netfilter = 32, "netfilter", "BPF_PROG_TYPE_NETFILTER";
    }
}

impl ProgType {
    /// Whether probes and events run such programs, in whatever context they find: their maps may
    /// not have locks, for example.
    pub const fn runs_in_any_context(self) -> bool {
        let by_probe = matches!(self, ProgType::Kprobe | ProgType::PerfEvent);
        let by_tracepoint = matches!(
            self,
            ProgType::Tracepoint | ProgType::RawTracepoint | ProgType::RawTracepointWritable
        );
        by_probe || by_tracepoint
    }
}
