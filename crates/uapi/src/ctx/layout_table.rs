//! The context and the result of each program type and attach type: one row each, the first match
//! counts.

use super::field::CtxField;
use super::layout_row::{CtxLayout, LayoutRow};
use super::{raw_table::*, skb_table::*, sock_table::*};
use crate::ProgType;
use crate::helper::AttachSet;

const ALL: AttachSet = AttachSet(u64::MAX);

const fn row(prog_type: ProgType, attach: AttachSet, fields: &'static [CtxField]) -> LayoutRow {
    LayoutRow { prog_type, attach, layout: CtxLayout::Fields(fields) }
}

const fn btf(prog_type: ProgType) -> LayoutRow {
    LayoutRow { prog_type, attach: ALL, layout: CtxLayout::Btf }
}

/// Sorted by program type.
#[rustfmt::skip]
pub(super) static LAYOUT_ROWS: [LayoutRow; 39] = [
    row(ProgType::SocketFilter, ALL, &SOCKET_FILTER),
    row(ProgType::Kprobe, ALL, &KPROBE),
    row(ProgType::SchedCls, ALL, &SCHED),
    row(ProgType::SchedAct, ALL, &SCHED),
    row(ProgType::Tracepoint, ALL, &TRACEPOINT),
    row(ProgType::Xdp, AttachSet(0x200000000), &XDP_DEVMAP),
    row(ProgType::Xdp, ALL, &XDP),
    row(ProgType::PerfEvent, ALL, &PERF_EVENT),
    row(ProgType::CgroupSkb, AttachSet(0x3), &CGROUP_SKB),
    row(ProgType::CgroupSock, AttachSet(0x400000005), &CGROUP_SOCK),
    row(ProgType::CgroupSock, AttachSet(0x1000), &CGROUP_SOCK_POST_BIND4),
    row(ProgType::CgroupSock, AttachSet(0x2000), &CGROUP_SOCK_POST_BIND6),
    row(ProgType::LwtIn, ALL, &LWT),
    row(ProgType::LwtOut, ALL, &LWT),
    row(ProgType::LwtXmit, ALL, &LWT_XMIT),
    row(ProgType::SockOps, ALL, &SOCK_OPS),
    row(ProgType::SkSkb, ALL, &SK_SKB),
    row(ProgType::CgroupDevice, ALL, &CGROUP_DEVICE),
    row(ProgType::SkMsg, ALL, &SK_MSG),
    row(ProgType::RawTracepoint, ALL, &RAW_TRACEPOINT),
    row(ProgType::CgroupSockAddr, AttachSet(0xa0080500), &SOCK_ADDR_INET4),
    row(ProgType::CgroupSockAddr, AttachSet(0x140100a00), &SOCK_ADDR_INET6),
    row(ProgType::CgroupSockAddr, AttachSet(0x4000), &SOCK_ADDR_SENDMSG4),
    row(ProgType::CgroupSockAddr, AttachSet(0x8000), &SOCK_ADDR_SENDMSG6),
    row(ProgType::CgroupSockAddr, AttachSet(0x3e000000000000), &SOCK_ADDR_UNIX),
    row(ProgType::LwtSeg6local, ALL, &LWT),
    row(ProgType::SkReuseport, AttachSet(0x18000000001), &SK_REUSEPORT),
    row(ProgType::FlowDissector, ALL, &FLOW_DISSECTOR),
    row(ProgType::CgroupSysctl, ALL, &CGROUP_SYSCTL),
    row(ProgType::RawTracepointWritable, ALL, &RAW_TRACEPOINT_WRITABLE),
    row(ProgType::CgroupSockopt, AttachSet(0x200000), &CGROUP_GETSOCKOPT),
    row(ProgType::CgroupSockopt, AttachSet(0x400000), &CGROUP_SETSOCKOPT),
    btf(ProgType::Tracing),
    btf(ProgType::StructOps),
    btf(ProgType::Ext),
    btf(ProgType::Lsm),
    row(ProgType::SkLookup, AttachSet(0x1000000000), &SK_LOOKUP),
    row(ProgType::Syscall, ALL, &SYSCALL),
    row(ProgType::Netfilter, AttachSet(0x200000000000), &NETFILTER),
];
