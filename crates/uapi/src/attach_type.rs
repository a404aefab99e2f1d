//! Attach types, with their numbers and names.
//!
//! Kernel: `enum bpf_attach_type` (include/uapi/linux/bpf.h), 6.18, read from the kernel's own BTF.

use std::fmt;

/// `enum bpf_attach_type`: where a program is attached. The discriminant is the number of the ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum AttachType {
    /// `BPF_CGROUP_INET_INGRESS`.
    CgroupInetIngress = 0,
    /// `BPF_CGROUP_INET_EGRESS`.
    CgroupInetEgress = 1,
    /// `BPF_CGROUP_INET_SOCK_CREATE`.
    CgroupInetSockCreate = 2,
    /// `BPF_CGROUP_SOCK_OPS`.
    CgroupSockOps = 3,
    /// `BPF_SK_SKB_STREAM_PARSER`.
    SkSkbStreamParser = 4,
    /// `BPF_SK_SKB_STREAM_VERDICT`.
    SkSkbStreamVerdict = 5,
    /// `BPF_CGROUP_DEVICE`.
    CgroupDevice = 6,
    /// `BPF_SK_MSG_VERDICT`.
    SkMsgVerdict = 7,
    /// `BPF_CGROUP_INET4_BIND`.
    CgroupInet4Bind = 8,
    /// `BPF_CGROUP_INET6_BIND`.
    CgroupInet6Bind = 9,
    /// `BPF_CGROUP_INET4_CONNECT`.
    CgroupInet4Connect = 10,
    /// `BPF_CGROUP_INET6_CONNECT`.
    CgroupInet6Connect = 11,
    /// `BPF_CGROUP_INET4_POST_BIND`.
    CgroupInet4PostBind = 12,
    /// `BPF_CGROUP_INET6_POST_BIND`.
    CgroupInet6PostBind = 13,
    /// `BPF_CGROUP_UDP4_SENDMSG`.
    CgroupUdp4Sendmsg = 14,
    /// `BPF_CGROUP_UDP6_SENDMSG`.
    CgroupUdp6Sendmsg = 15,
    /// `BPF_LIRC_MODE2`.
    LircMode2 = 16,
    /// `BPF_FLOW_DISSECTOR`.
    FlowDissector = 17,
    /// `BPF_CGROUP_SYSCTL`.
    CgroupSysctl = 18,
    /// `BPF_CGROUP_UDP4_RECVMSG`.
    CgroupUdp4Recvmsg = 19,
    /// `BPF_CGROUP_UDP6_RECVMSG`.
    CgroupUdp6Recvmsg = 20,
    /// `BPF_CGROUP_GETSOCKOPT`.
    CgroupGetsockopt = 21,
    /// `BPF_CGROUP_SETSOCKOPT`.
    CgroupSetsockopt = 22,
    /// `BPF_TRACE_RAW_TP`.
    TraceRawTp = 23,
    /// `BPF_TRACE_FENTRY`.
    TraceFentry = 24,
    /// `BPF_TRACE_FEXIT`.
    TraceFexit = 25,
    /// `BPF_MODIFY_RETURN`.
    ModifyReturn = 26,
    /// `BPF_LSM_MAC`.
    LsmMac = 27,
    /// `BPF_TRACE_ITER`.
    TraceIter = 28,
    /// `BPF_CGROUP_INET4_GETPEERNAME`.
    CgroupInet4Getpeername = 29,
    /// `BPF_CGROUP_INET6_GETPEERNAME`.
    CgroupInet6Getpeername = 30,
    /// `BPF_CGROUP_INET4_GETSOCKNAME`.
    CgroupInet4Getsockname = 31,
    /// `BPF_CGROUP_INET6_GETSOCKNAME`.
    CgroupInet6Getsockname = 32,
    /// `BPF_XDP_DEVMAP`.
    XdpDevmap = 33,
    /// `BPF_CGROUP_INET_SOCK_RELEASE`.
    CgroupInetSockRelease = 34,
    /// `BPF_XDP_CPUMAP`.
    XdpCpumap = 35,
    /// `BPF_SK_LOOKUP`.
    SkLookup = 36,
    /// `BPF_XDP`.
    Xdp = 37,
    /// `BPF_SK_SKB_VERDICT`.
    SkSkbVerdict = 38,
    /// `BPF_SK_REUSEPORT_SELECT`.
    SkReuseportSelect = 39,
    /// `BPF_SK_REUSEPORT_SELECT_OR_MIGRATE`.
    SkReuseportSelectOrMigrate = 40,
    /// `BPF_PERF_EVENT`.
    PerfEvent = 41,
    /// `BPF_TRACE_KPROBE_MULTI`.
    TraceKprobeMulti = 42,
    /// `BPF_LSM_CGROUP`.
    LsmCgroup = 43,
    /// `BPF_STRUCT_OPS`.
    StructOps = 44,
    /// `BPF_NETFILTER`.
    Netfilter = 45,
    /// `BPF_TCX_INGRESS`.
    TcxIngress = 46,
    /// `BPF_TCX_EGRESS`.
    TcxEgress = 47,
    /// `BPF_TRACE_UPROBE_MULTI`.
    TraceUprobeMulti = 48,
    /// `BPF_CGROUP_UNIX_CONNECT`.
    CgroupUnixConnect = 49,
    /// `BPF_CGROUP_UNIX_SENDMSG`.
    CgroupUnixSendmsg = 50,
    /// `BPF_CGROUP_UNIX_RECVMSG`.
    CgroupUnixRecvmsg = 51,
    /// `BPF_CGROUP_UNIX_GETPEERNAME`.
    CgroupUnixGetpeername = 52,
    /// `BPF_CGROUP_UNIX_GETSOCKNAME`.
    CgroupUnixGetsockname = 53,
    /// `BPF_NETKIT_PRIMARY`.
    NetkitPrimary = 54,
    /// `BPF_NETKIT_PEER`.
    NetkitPeer = 55,
    /// `BPF_TRACE_KPROBE_SESSION`.
    TraceKprobeSession = 56,
    /// `BPF_TRACE_UPROBE_SESSION`.
    TraceUprobeSession = 57,
}

/// Number of values of [`AttachType`].
pub const ATTACH_TYPE_COUNT: usize = 58;

/// One row a value, in the order of the ABI: the value and its spelling in the kernel's headers.
static ROWS: [(AttachType, &str); ATTACH_TYPE_COUNT] = [
    (AttachType::CgroupInetIngress, "BPF_CGROUP_INET_INGRESS"),
    (AttachType::CgroupInetEgress, "BPF_CGROUP_INET_EGRESS"),
    (AttachType::CgroupInetSockCreate, "BPF_CGROUP_INET_SOCK_CREATE"),
    (AttachType::CgroupSockOps, "BPF_CGROUP_SOCK_OPS"),
    (AttachType::SkSkbStreamParser, "BPF_SK_SKB_STREAM_PARSER"),
    (AttachType::SkSkbStreamVerdict, "BPF_SK_SKB_STREAM_VERDICT"),
    (AttachType::CgroupDevice, "BPF_CGROUP_DEVICE"),
    (AttachType::SkMsgVerdict, "BPF_SK_MSG_VERDICT"),
    (AttachType::CgroupInet4Bind, "BPF_CGROUP_INET4_BIND"),
    (AttachType::CgroupInet6Bind, "BPF_CGROUP_INET6_BIND"),
    (AttachType::CgroupInet4Connect, "BPF_CGROUP_INET4_CONNECT"),
    (AttachType::CgroupInet6Connect, "BPF_CGROUP_INET6_CONNECT"),
    (AttachType::CgroupInet4PostBind, "BPF_CGROUP_INET4_POST_BIND"),
    (AttachType::CgroupInet6PostBind, "BPF_CGROUP_INET6_POST_BIND"),
    (AttachType::CgroupUdp4Sendmsg, "BPF_CGROUP_UDP4_SENDMSG"),
    (AttachType::CgroupUdp6Sendmsg, "BPF_CGROUP_UDP6_SENDMSG"),
    (AttachType::LircMode2, "BPF_LIRC_MODE2"),
    (AttachType::FlowDissector, "BPF_FLOW_DISSECTOR"),
    (AttachType::CgroupSysctl, "BPF_CGROUP_SYSCTL"),
    (AttachType::CgroupUdp4Recvmsg, "BPF_CGROUP_UDP4_RECVMSG"),
    (AttachType::CgroupUdp6Recvmsg, "BPF_CGROUP_UDP6_RECVMSG"),
    (AttachType::CgroupGetsockopt, "BPF_CGROUP_GETSOCKOPT"),
    (AttachType::CgroupSetsockopt, "BPF_CGROUP_SETSOCKOPT"),
    (AttachType::TraceRawTp, "BPF_TRACE_RAW_TP"),
    (AttachType::TraceFentry, "BPF_TRACE_FENTRY"),
    (AttachType::TraceFexit, "BPF_TRACE_FEXIT"),
    (AttachType::ModifyReturn, "BPF_MODIFY_RETURN"),
    (AttachType::LsmMac, "BPF_LSM_MAC"),
    (AttachType::TraceIter, "BPF_TRACE_ITER"),
    (AttachType::CgroupInet4Getpeername, "BPF_CGROUP_INET4_GETPEERNAME"),
    (AttachType::CgroupInet6Getpeername, "BPF_CGROUP_INET6_GETPEERNAME"),
    (AttachType::CgroupInet4Getsockname, "BPF_CGROUP_INET4_GETSOCKNAME"),
    (AttachType::CgroupInet6Getsockname, "BPF_CGROUP_INET6_GETSOCKNAME"),
    (AttachType::XdpDevmap, "BPF_XDP_DEVMAP"),
    (AttachType::CgroupInetSockRelease, "BPF_CGROUP_INET_SOCK_RELEASE"),
    (AttachType::XdpCpumap, "BPF_XDP_CPUMAP"),
    (AttachType::SkLookup, "BPF_SK_LOOKUP"),
    (AttachType::Xdp, "BPF_XDP"),
    (AttachType::SkSkbVerdict, "BPF_SK_SKB_VERDICT"),
    (AttachType::SkReuseportSelect, "BPF_SK_REUSEPORT_SELECT"),
    (AttachType::SkReuseportSelectOrMigrate, "BPF_SK_REUSEPORT_SELECT_OR_MIGRATE"),
    (AttachType::PerfEvent, "BPF_PERF_EVENT"),
    (AttachType::TraceKprobeMulti, "BPF_TRACE_KPROBE_MULTI"),
    (AttachType::LsmCgroup, "BPF_LSM_CGROUP"),
    (AttachType::StructOps, "BPF_STRUCT_OPS"),
    (AttachType::Netfilter, "BPF_NETFILTER"),
    (AttachType::TcxIngress, "BPF_TCX_INGRESS"),
    (AttachType::TcxEgress, "BPF_TCX_EGRESS"),
    (AttachType::TraceUprobeMulti, "BPF_TRACE_UPROBE_MULTI"),
    (AttachType::CgroupUnixConnect, "BPF_CGROUP_UNIX_CONNECT"),
    (AttachType::CgroupUnixSendmsg, "BPF_CGROUP_UNIX_SENDMSG"),
    (AttachType::CgroupUnixRecvmsg, "BPF_CGROUP_UNIX_RECVMSG"),
    (AttachType::CgroupUnixGetpeername, "BPF_CGROUP_UNIX_GETPEERNAME"),
    (AttachType::CgroupUnixGetsockname, "BPF_CGROUP_UNIX_GETSOCKNAME"),
    (AttachType::NetkitPrimary, "BPF_NETKIT_PRIMARY"),
    (AttachType::NetkitPeer, "BPF_NETKIT_PEER"),
    (AttachType::TraceKprobeSession, "BPF_TRACE_KPROBE_SESSION"),
    (AttachType::TraceUprobeSession, "BPF_TRACE_UPROBE_SESSION"),
];

/// What [`AttachType::name`] leaves out of the header's spelling.
#[cfg(test)]
const NAME_PREFIX: &str = "BPF_";

/// libbpf's spellings, indexed by the number.
static NAMES: [&str; ATTACH_TYPE_COUNT] = [
    "cgroup_inet_ingress",
    "cgroup_inet_egress",
    "cgroup_inet_sock_create",
    "cgroup_sock_ops",
    "sk_skb_stream_parser",
    "sk_skb_stream_verdict",
    "cgroup_device",
    "sk_msg_verdict",
    "cgroup_inet4_bind",
    "cgroup_inet6_bind",
    "cgroup_inet4_connect",
    "cgroup_inet6_connect",
    "cgroup_inet4_post_bind",
    "cgroup_inet6_post_bind",
    "cgroup_udp4_sendmsg",
    "cgroup_udp6_sendmsg",
    "lirc_mode2",
    "flow_dissector",
    "cgroup_sysctl",
    "cgroup_udp4_recvmsg",
    "cgroup_udp6_recvmsg",
    "cgroup_getsockopt",
    "cgroup_setsockopt",
    "trace_raw_tp",
    "trace_fentry",
    "trace_fexit",
    "modify_return",
    "lsm_mac",
    "trace_iter",
    "cgroup_inet4_getpeername",
    "cgroup_inet6_getpeername",
    "cgroup_inet4_getsockname",
    "cgroup_inet6_getsockname",
    "xdp_devmap",
    "cgroup_inet_sock_release",
    "xdp_cpumap",
    "sk_lookup",
    "xdp",
    "sk_skb_verdict",
    "sk_reuseport_select",
    "sk_reuseport_select_or_migrate",
    "perf_event",
    "trace_kprobe_multi",
    "lsm_cgroup",
    "struct_ops",
    "netfilter",
    "tcx_ingress",
    "tcx_egress",
    "trace_uprobe_multi",
    "cgroup_unix_connect",
    "cgroup_unix_sendmsg",
    "cgroup_unix_recvmsg",
    "cgroup_unix_getpeername",
    "cgroup_unix_getsockname",
    "netkit_primary",
    "netkit_peer",
    "trace_kprobe_session",
    "trace_uprobe_session",
];

impl AttachType {
    /// The value with this number in the ABI; `None` if the kernel has none.
    pub fn from_number(number: u32) -> Option<AttachType> {
        ROWS.get(number as usize).map(|row| row.0)
    }

    /// The value with this name, in either spelling: `cgroup_device` or `BPF_CGROUP_DEVICE`.
    pub fn from_name(name: &str) -> Option<AttachType> {
        let at = NAMES.iter().position(|n| *n == name);
        at.or_else(|| ROWS.iter().position(|row| row.1 == name)).map(|i| ROWS[i].0)
    }

    /// Every value, in the order of the ABI.
    pub fn all() -> impl Iterator<Item = AttachType> {
        ROWS.iter().map(|row| row.0)
    }

    /// The number in the ABI.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// The number as a table index, below [`ATTACH_TYPE_COUNT`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// libbpf's spelling: `cgroup_device`.
    pub fn name(self) -> &'static str {
        NAMES[self.index()]
    }

    /// The spelling of the kernel's headers: `BPF_CGROUP_DEVICE`.
    pub fn kernel_name(self) -> &'static str {
        ROWS[self.index()].1
    }
}

impl fmt::Display for AttachType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_abi_order_and_names_agree() {
        for (i, (value, kernel_name)) in ROWS.iter().enumerate() {
            assert_eq!(value.index(), i);
            assert_eq!(value.name(), kernel_name[NAME_PREFIX.len()..].to_lowercase());
            assert_eq!(AttachType::from_number(i as u32), Some(*value));
            assert_eq!(AttachType::from_name(value.name()), Some(*value));
            assert_eq!(AttachType::from_name(kernel_name), Some(*value));
        }
        assert_eq!(AttachType::from_number(ATTACH_TYPE_COUNT as u32), None);
        assert_eq!(AttachType::from_name("no_such_name"), None);
    }
}
