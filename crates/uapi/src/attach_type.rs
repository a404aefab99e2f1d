//! Attach types, with their numbers and names.
//!
//! Kernel: `enum bpf_attach_type` (include/uapi/linux/bpf.h), 6.18, read from the kernel's own BTF.

use crate::abi_enum::{abi_enum, abi_enum_spelled};

abi_enum_spelled! {
    /// `enum bpf_attach_type`: where a program is attached. The discriminant is the number of the
    /// ABI.
    pub enum AttachType {
        CgroupInetIngress = 0, "cgroup_inet_ingress", "BPF_CGROUP_INET_INGRESS";
        CgroupInetEgress = 1, "cgroup_inet_egress", "BPF_CGROUP_INET_EGRESS";
        CgroupInetSockCreate = 2, "cgroup_inet_sock_create", "BPF_CGROUP_INET_SOCK_CREATE";
        CgroupSockOps = 3, "cgroup_sock_ops", "BPF_CGROUP_SOCK_OPS";
        SkSkbStreamParser = 4, "sk_skb_stream_parser", "BPF_SK_SKB_STREAM_PARSER";
        SkSkbStreamVerdict = 5, "sk_skb_stream_verdict", "BPF_SK_SKB_STREAM_VERDICT";
        CgroupDevice = 6, "cgroup_device", "BPF_CGROUP_DEVICE";
        SkMsgVerdict = 7, "sk_msg_verdict", "BPF_SK_MSG_VERDICT";
        CgroupInet4Bind = 8, "cgroup_inet4_bind", "BPF_CGROUP_INET4_BIND";
        CgroupInet6Bind = 9, "cgroup_inet6_bind", "BPF_CGROUP_INET6_BIND";
        CgroupInet4Connect = 10, "cgroup_inet4_connect", "BPF_CGROUP_INET4_CONNECT";
        CgroupInet6Connect = 11, "cgroup_inet6_connect", "BPF_CGROUP_INET6_CONNECT";
        CgroupInet4PostBind = 12, "cgroup_inet4_post_bind", "BPF_CGROUP_INET4_POST_BIND";
        CgroupInet6PostBind = 13, "cgroup_inet6_post_bind", "BPF_CGROUP_INET6_POST_BIND";
        CgroupUdp4Sendmsg = 14, "cgroup_udp4_sendmsg", "BPF_CGROUP_UDP4_SENDMSG";
        CgroupUdp6Sendmsg = 15, "cgroup_udp6_sendmsg", "BPF_CGROUP_UDP6_SENDMSG";
        LircMode2 = 16, "lirc_mode2", "BPF_LIRC_MODE2";
        FlowDissector = 17, "flow_dissector", "BPF_FLOW_DISSECTOR";
        CgroupSysctl = 18, "cgroup_sysctl", "BPF_CGROUP_SYSCTL";
        CgroupUdp4Recvmsg = 19, "cgroup_udp4_recvmsg", "BPF_CGROUP_UDP4_RECVMSG";
        CgroupUdp6Recvmsg = 20, "cgroup_udp6_recvmsg", "BPF_CGROUP_UDP6_RECVMSG";
        CgroupGetsockopt = 21, "cgroup_getsockopt", "BPF_CGROUP_GETSOCKOPT";
        CgroupSetsockopt = 22, "cgroup_setsockopt", "BPF_CGROUP_SETSOCKOPT";
        TraceRawTp = 23, "trace_raw_tp", "BPF_TRACE_RAW_TP";
        TraceFentry = 24, "trace_fentry", "BPF_TRACE_FENTRY";
        TraceFexit = 25, "trace_fexit", "BPF_TRACE_FEXIT";
        ModifyReturn = 26, "modify_return", "BPF_MODIFY_RETURN";
        LsmMac = 27, "lsm_mac", "BPF_LSM_MAC";
        TraceIter = 28, "trace_iter", "BPF_TRACE_ITER";
        CgroupInet4Getpeername = 29, "cgroup_inet4_getpeername", "BPF_CGROUP_INET4_GETPEERNAME";
        CgroupInet6Getpeername = 30, "cgroup_inet6_getpeername", "BPF_CGROUP_INET6_GETPEERNAME";
        CgroupInet4Getsockname = 31, "cgroup_inet4_getsockname", "BPF_CGROUP_INET4_GETSOCKNAME";
        CgroupInet6Getsockname = 32, "cgroup_inet6_getsockname", "BPF_CGROUP_INET6_GETSOCKNAME";
        XdpDevmap = 33, "xdp_devmap", "BPF_XDP_DEVMAP";
        CgroupInetSockRelease = 34, "cgroup_inet_sock_release", "BPF_CGROUP_INET_SOCK_RELEASE";
        XdpCpumap = 35, "xdp_cpumap", "BPF_XDP_CPUMAP";
        SkLookup = 36, "sk_lookup", "BPF_SK_LOOKUP";
        Xdp = 37, "xdp", "BPF_XDP";
        SkSkbVerdict = 38, "sk_skb_verdict", "BPF_SK_SKB_VERDICT";
        SkReuseportSelect = 39, "sk_reuseport_select", "BPF_SK_REUSEPORT_SELECT";
        SkReuseportSelectOrMigrate = 40, "sk_reuseport_select_or_migrate", "BPF_SK_REUSEPORT_SELECT_OR_MIGRATE";
        PerfEvent = 41, "perf_event", "BPF_PERF_EVENT";
        TraceKprobeMulti = 42, "trace_kprobe_multi", "BPF_TRACE_KPROBE_MULTI";
        LsmCgroup = 43, "lsm_cgroup", "BPF_LSM_CGROUP";
        StructOps = 44, "struct_ops", "BPF_STRUCT_OPS";
        Netfilter = 45, "netfilter", "BPF_NETFILTER";
        TcxIngress = 46, "tcx_ingress", "BPF_TCX_INGRESS";
        TcxEgress = 47, "tcx_egress", "BPF_TCX_EGRESS";
        TraceUprobeMulti = 48, "trace_uprobe_multi", "BPF_TRACE_UPROBE_MULTI";
        CgroupUnixConnect = 49, "cgroup_unix_connect", "BPF_CGROUP_UNIX_CONNECT";
        CgroupUnixSendmsg = 50, "cgroup_unix_sendmsg", "BPF_CGROUP_UNIX_SENDMSG";
        CgroupUnixRecvmsg = 51, "cgroup_unix_recvmsg", "BPF_CGROUP_UNIX_RECVMSG";
        CgroupUnixGetpeername = 52, "cgroup_unix_getpeername", "BPF_CGROUP_UNIX_GETPEERNAME";
        CgroupUnixGetsockname = 53, "cgroup_unix_getsockname", "BPF_CGROUP_UNIX_GETSOCKNAME";
        NetkitPrimary = 54, "netkit_primary", "BPF_NETKIT_PRIMARY";
        NetkitPeer = 55, "netkit_peer", "BPF_NETKIT_PEER";
        TraceKprobeSession = 56, "trace_kprobe_session", "BPF_TRACE_KPROBE_SESSION";
        TraceUprobeSession = 57, "trace_uprobe_session", "BPF_TRACE_UPROBE_SESSION";
    }
}
