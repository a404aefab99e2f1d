//! Program types, with their numbers and names.
//!
//! Kernel: `enum bpf_prog_type` (include/uapi/linux/bpf.h), 6.18, read from the kernel's own BTF.

use std::fmt;

/// `enum bpf_prog_type`: what a program is for. The discriminant is the number of the ABI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ProgType {
    /// `BPF_PROG_TYPE_UNSPEC`.
    #[default]
    Unspec = 0,
    /// `BPF_PROG_TYPE_SOCKET_FILTER`.
    SocketFilter = 1,
    /// `BPF_PROG_TYPE_KPROBE`.
    Kprobe = 2,
    /// `BPF_PROG_TYPE_SCHED_CLS`.
    SchedCls = 3,
    /// `BPF_PROG_TYPE_SCHED_ACT`.
    SchedAct = 4,
    /// `BPF_PROG_TYPE_TRACEPOINT`.
    Tracepoint = 5,
    /// `BPF_PROG_TYPE_XDP`.
    Xdp = 6,
    /// `BPF_PROG_TYPE_PERF_EVENT`.
    PerfEvent = 7,
    /// `BPF_PROG_TYPE_CGROUP_SKB`.
    CgroupSkb = 8,
    /// `BPF_PROG_TYPE_CGROUP_SOCK`.
    CgroupSock = 9,
    /// `BPF_PROG_TYPE_LWT_IN`.
    LwtIn = 10,
    /// `BPF_PROG_TYPE_LWT_OUT`.
    LwtOut = 11,
    /// `BPF_PROG_TYPE_LWT_XMIT`.
    LwtXmit = 12,
    /// `BPF_PROG_TYPE_SOCK_OPS`.
    SockOps = 13,
    /// `BPF_PROG_TYPE_SK_SKB`.
    SkSkb = 14,
    /// `BPF_PROG_TYPE_CGROUP_DEVICE`.
    CgroupDevice = 15,
    /// `BPF_PROG_TYPE_SK_MSG`.
    SkMsg = 16,
    /// `BPF_PROG_TYPE_RAW_TRACEPOINT`.
    RawTracepoint = 17,
    /// `BPF_PROG_TYPE_CGROUP_SOCK_ADDR`.
    CgroupSockAddr = 18,
    /// `BPF_PROG_TYPE_LWT_SEG6LOCAL`.
    LwtSeg6local = 19,
    /// `BPF_PROG_TYPE_LIRC_MODE2`.
    LircMode2 = 20,
    /// `BPF_PROG_TYPE_SK_REUSEPORT`.
    SkReuseport = 21,
    /// `BPF_PROG_TYPE_FLOW_DISSECTOR`.
    FlowDissector = 22,
    /// `BPF_PROG_TYPE_CGROUP_SYSCTL`.
    CgroupSysctl = 23,
    /// `BPF_PROG_TYPE_RAW_TRACEPOINT_WRITABLE`.
    RawTracepointWritable = 24,
    /// `BPF_PROG_TYPE_CGROUP_SOCKOPT`.
    CgroupSockopt = 25,
    /// `BPF_PROG_TYPE_TRACING`.
    Tracing = 26,
    /// `BPF_PROG_TYPE_STRUCT_OPS`.
    StructOps = 27,
    /// `BPF_PROG_TYPE_EXT`.
    Ext = 28,
    /// `BPF_PROG_TYPE_LSM`.
    Lsm = 29,
    /// `BPF_PROG_TYPE_SK_LOOKUP`.
    SkLookup = 30,
    /// `BPF_PROG_TYPE_SYSCALL`.
    Syscall = 31,
    /// `BPF_PROG_TYPE_NETFILTER`.
    Netfilter = 32,
}

/// Number of values of [`ProgType`].
pub const PROG_TYPE_COUNT: usize = 33;

/// One row a value, in the order of the ABI: the value and its spelling in the kernel's headers.
static ROWS: [(ProgType, &str); PROG_TYPE_COUNT] = [
    (ProgType::Unspec, "BPF_PROG_TYPE_UNSPEC"),
    (ProgType::SocketFilter, "BPF_PROG_TYPE_SOCKET_FILTER"),
    (ProgType::Kprobe, "BPF_PROG_TYPE_KPROBE"),
    (ProgType::SchedCls, "BPF_PROG_TYPE_SCHED_CLS"),
    (ProgType::SchedAct, "BPF_PROG_TYPE_SCHED_ACT"),
    (ProgType::Tracepoint, "BPF_PROG_TYPE_TRACEPOINT"),
    (ProgType::Xdp, "BPF_PROG_TYPE_XDP"),
    (ProgType::PerfEvent, "BPF_PROG_TYPE_PERF_EVENT"),
    (ProgType::CgroupSkb, "BPF_PROG_TYPE_CGROUP_SKB"),
    (ProgType::CgroupSock, "BPF_PROG_TYPE_CGROUP_SOCK"),
    (ProgType::LwtIn, "BPF_PROG_TYPE_LWT_IN"),
    (ProgType::LwtOut, "BPF_PROG_TYPE_LWT_OUT"),
    (ProgType::LwtXmit, "BPF_PROG_TYPE_LWT_XMIT"),
    (ProgType::SockOps, "BPF_PROG_TYPE_SOCK_OPS"),
    (ProgType::SkSkb, "BPF_PROG_TYPE_SK_SKB"),
    (ProgType::CgroupDevice, "BPF_PROG_TYPE_CGROUP_DEVICE"),
    (ProgType::SkMsg, "BPF_PROG_TYPE_SK_MSG"),
    (ProgType::RawTracepoint, "BPF_PROG_TYPE_RAW_TRACEPOINT"),
    (ProgType::CgroupSockAddr, "BPF_PROG_TYPE_CGROUP_SOCK_ADDR"),
    (ProgType::LwtSeg6local, "BPF_PROG_TYPE_LWT_SEG6LOCAL"),
    (ProgType::LircMode2, "BPF_PROG_TYPE_LIRC_MODE2"),
    (ProgType::SkReuseport, "BPF_PROG_TYPE_SK_REUSEPORT"),
    (ProgType::FlowDissector, "BPF_PROG_TYPE_FLOW_DISSECTOR"),
    (ProgType::CgroupSysctl, "BPF_PROG_TYPE_CGROUP_SYSCTL"),
    (ProgType::RawTracepointWritable, "BPF_PROG_TYPE_RAW_TRACEPOINT_WRITABLE"),
    (ProgType::CgroupSockopt, "BPF_PROG_TYPE_CGROUP_SOCKOPT"),
    (ProgType::Tracing, "BPF_PROG_TYPE_TRACING"),
    (ProgType::StructOps, "BPF_PROG_TYPE_STRUCT_OPS"),
    (ProgType::Ext, "BPF_PROG_TYPE_EXT"),
    (ProgType::Lsm, "BPF_PROG_TYPE_LSM"),
    (ProgType::SkLookup, "BPF_PROG_TYPE_SK_LOOKUP"),
    (ProgType::Syscall, "BPF_PROG_TYPE_SYSCALL"),
    (ProgType::Netfilter, "BPF_PROG_TYPE_NETFILTER"),
];

/// What [`ProgType::name`] leaves out of the header's spelling.
#[cfg(test)]
const NAME_PREFIX: &str = "BPF_PROG_TYPE_";

/// libbpf's spellings, indexed by the number.
static NAMES: [&str; PROG_TYPE_COUNT] = [
    "unspec",
    "socket_filter",
    "kprobe",
    "sched_cls",
    "sched_act",
    "tracepoint",
    "xdp",
    "perf_event",
    "cgroup_skb",
    "cgroup_sock",
    "lwt_in",
    "lwt_out",
    "lwt_xmit",
    "sock_ops",
    "sk_skb",
    "cgroup_device",
    "sk_msg",
    "raw_tracepoint",
    "cgroup_sock_addr",
    "lwt_seg6local",
    "lirc_mode2",
    "sk_reuseport",
    "flow_dissector",
    "cgroup_sysctl",
    "raw_tracepoint_writable",
    "cgroup_sockopt",
    "tracing",
    "struct_ops",
    "ext",
    "lsm",
    "sk_lookup",
    "syscall",
    "netfilter",
];

impl ProgType {
    /// The value with this number in the ABI; `None` if the kernel has none.
    pub fn from_number(number: u32) -> Option<ProgType> {
        ROWS.get(number as usize).map(|row| row.0)
    }

    /// The value with this name, in either spelling: `xdp` or `BPF_PROG_TYPE_XDP`.
    pub fn from_name(name: &str) -> Option<ProgType> {
        let at = NAMES.iter().position(|n| *n == name);
        at.or_else(|| ROWS.iter().position(|row| row.1 == name)).map(|i| ROWS[i].0)
    }

    /// Every value, in the order of the ABI.
    pub fn all() -> impl Iterator<Item = ProgType> {
        ROWS.iter().map(|row| row.0)
    }

    /// The number in the ABI.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// The number as a table index, below [`PROG_TYPE_COUNT`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// libbpf's spelling: `xdp`.
    pub fn name(self) -> &'static str {
        NAMES[self.index()]
    }

    /// The spelling of the kernel's headers: `BPF_PROG_TYPE_XDP`.
    pub fn kernel_name(self) -> &'static str {
        ROWS[self.index()].1
    }
}

impl fmt::Display for ProgType {
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
            assert_eq!(ProgType::from_number(i as u32), Some(*value));
            assert_eq!(ProgType::from_name(value.name()), Some(*value));
            assert_eq!(ProgType::from_name(kernel_name), Some(*value));
        }
        assert_eq!(ProgType::from_number(PROG_TYPE_COUNT as u32), None);
        assert_eq!(ProgType::from_name("no_such_name"), None);
    }
}
