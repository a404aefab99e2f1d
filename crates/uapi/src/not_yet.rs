//! Helpers that some kinds of programs may call on 6.18, but not on an older kernel that already
//! has the helper, or no longer on a newer one.
//!
//! Generated from the kernels' results (`tests/kernels/asked/*.surface.csv`, rows `calls`).

use crate::ProgType;
use crate::helper::{AttachSet, HelperId, HelperSet, HookKey};

struct NotYet {
    /// What the kernel's release begins with.
    kernel: &'static str,
    prog_type: ProgType,
    attach: AttachSet,
    helpers: HelperSet,
}

const fn row(kernel: &'static str, prog_type: ProgType, attach: u64, helpers: [u64; 4]) -> NotYet {
    NotYet { kernel, prog_type, attach: AttachSet(attach), helpers: HelperSet(helpers) }
}

/// Whether programs of this kind may not call the helper on the kernel that `release` names (as
/// [`nearest`](crate::nearest_asked) has it), though they may on 6.18.
pub fn not_yet(release: &str, hook: &HookKey<'_>, id: HelperId) -> bool {
    ROWS.iter().any(|row| {
        row.kernel == release
            && row.prog_type == hook.prog_type
            && row.attach.contains(hook.attach_type)
            && row.helpers.contains(id)
    })
}

const ALL: u64 = u64::MAX;

#[rustfmt::skip]
static ROWS: [NotYet; 93] = [
    row("5.10.0-46-", ProgType::SocketFilter, ALL, [0x8000200043c000, 0xd20260000010000, 0x102000, 0x0]),
    row("5.10.0-46-", ProgType::Kprobe, ALL, [0x20000, 0x800060060000000, 0x100000, 0x0]),
    row("5.10.0-46-", ProgType::SchedCls, ALL, [0x8000200041c000, 0xd20260000010000, 0x102000, 0x0]),
    row("5.10.0-46-", ProgType::SchedAct, ALL, [0x8000200041c000, 0xd20260000010000, 0x102000, 0x0]),
    row("5.10.0-46-", ProgType::Tracepoint, ALL, [0x20000, 0x800060060000000, 0x100000, 0x0]),
    row("5.10.0-46-", ProgType::Xdp, ALL, [0x8000200043c000, 0x920260000010000, 0x102000, 0x0]),
    row("5.10.0-46-", ProgType::PerfEvent, ALL, [0x20000, 0x800060060000000, 0x100000, 0x0]),
    row("5.10.0-46-", ProgType::CgroupSkb, 0x3, [0x8000200043c000, 0xd20260000010000, 0x102000, 0x0]),
    row("5.10.0-46-", ProgType::CgroupSock, 0x400003005, [0x80002000400000, 0x120260000000000, 0x102000, 0x0]),
    row("5.10.0-46-", ProgType::LwtIn, ALL, [0x8000200041c000, 0x920260000010000, 0x102000, 0x0]),
    row("5.10.0-46-", ProgType::LwtOut, ALL, [0x8000200041c000, 0x920260000010000, 0x102000, 0x0]),
    row("5.10.0-46-", ProgType::LwtXmit, ALL, [0x8000200041c000, 0x920260000010000, 0x102000, 0x0]),
    row("5.10.0-46-", ProgType::SockOps, ALL, [0x8000200043c000, 0xd20260000010000, 0x102000, 0x0]),
    row("5.10.0-46-", ProgType::SkSkb, ALL, [0x8000200043c000, 0x920260000010000, 0x102000, 0x0]),
    row("5.10.0-46-", ProgType::CgroupDevice, ALL, [0x80002000434000, 0x920260000000000, 0x102000, 0x0]),
    row("5.10.0-46-", ProgType::SkMsg, ALL, [0x80002000410000, 0x520260000000000, 0x102000, 0x0]),
    row("5.10.0-46-", ProgType::RawTracepoint, ALL, [0x20000, 0x800060060000000, 0x100000, 0x0]),
    row("5.10.0-46-", ProgType::CgroupSockAddr, 0x1e018c300, [0x282002000400000, 0x120260000000000, 0x102000, 0x0]),
    row("5.10.0-46-", ProgType::CgroupSockAddr, 0xc00, [0x80002000400000, 0x120260000000000, 0x102000, 0x0]),
    row("5.10.0-46-", ProgType::LwtSeg6local, ALL, [0x8000200041c000, 0x920260000010000, 0x102000, 0x0]),
    row("5.10.0-46-", ProgType::SkReuseport, ALL, [0x8040200043c000, 0x920260000010000, 0x102000, 0x0]),
    row("5.10.0-46-", ProgType::FlowDissector, ALL, [0x8000200043c000, 0x920260000010000, 0x102000, 0x0]),
    row("5.10.0-46-", ProgType::CgroupSysctl, ALL, [0x80002000434000, 0x920200000000000, 0x102000, 0x0]),
    row("5.10.0-46-", ProgType::RawTracepointWritable, ALL, [0x20000, 0x800060060000000, 0x100000, 0x0]),
    row("5.10.0-46-", ProgType::CgroupSockopt, 0x200000, [0x80002000434000, 0xd20260000000000, 0x102000, 0x0]),
    row("5.10.0-46-", ProgType::CgroupSockopt, 0x400000, [0x282002000434000, 0xd20260000000000, 0x102000, 0x0]),
    row("5.10.0-46-", ProgType::Tracing, ALL, [0x400000020000, 0x8001e0060000000, 0x100000, 0x0]),
    row("5.10.0-46-", ProgType::Lsm, ALL, [0x400000020000, 0x800060060000000, 0x100000, 0x0]),
    row("5.10.0-46-", ProgType::SkLookup, ALL, [0x8000200043c000, 0x920260000010000, 0x102000, 0x0]),
    row("6.1.0-56-", ProgType::SocketFilter, ALL, [0x8000200043c000, 0xd20200000010000, 0x8011000030102000, 0x0]),
    row("6.1.0-56-", ProgType::Kprobe, ALL, [0x20000, 0x0, 0x0, 0x0]),
    row("6.1.0-56-", ProgType::SchedCls, ALL, [0x8000200041c000, 0xd20200000010000, 0x8011000030102000, 0x0]),
    row("6.1.0-56-", ProgType::SchedAct, ALL, [0x8000200041c000, 0xd20200000010000, 0x8011000030102000, 0x0]),
    row("6.1.0-56-", ProgType::Tracepoint, ALL, [0x20000, 0x0, 0x0, 0x0]),
    row("6.1.0-56-", ProgType::Xdp, ALL, [0x8000200043c000, 0x920200000010000, 0x8011000030102000, 0x0]),
    row("6.1.0-56-", ProgType::PerfEvent, ALL, [0x20000, 0x0, 0x0, 0x0]),
    row("6.1.0-56-", ProgType::CgroupSkb, 0x3, [0x8000200043c000, 0xd20200000010000, 0x8011000030102000, 0x0]),
    row("6.1.0-56-", ProgType::CgroupSock, 0x400003005, [0x80002000400000, 0x120200000000000, 0x8011000030102000, 0x0]),
    row("6.1.0-56-", ProgType::LwtIn, ALL, [0x8000200041c000, 0x920200000010000, 0x8011000030102000, 0x0]),
    row("6.1.0-56-", ProgType::LwtOut, ALL, [0x8000200041c000, 0x920200000010000, 0x8011000030102000, 0x0]),
    row("6.1.0-56-", ProgType::LwtXmit, ALL, [0x8000200041c000, 0x920200000010000, 0x8011000030102000, 0x0]),
    row("6.1.0-56-", ProgType::SockOps, ALL, [0x8000200043c000, 0x920200000010000, 0x8011000030102000, 0x0]),
    row("6.1.0-56-", ProgType::SkSkb, ALL, [0x8000200043c000, 0x920200000010000, 0x8011000030102000, 0x0]),
    row("6.1.0-56-", ProgType::CgroupDevice, ALL, [0x80002000400000, 0x120200000000000, 0x8011000030102000, 0x0]),
    row("6.1.0-56-", ProgType::SkMsg, ALL, [0x80002000410000, 0x120200000000000, 0x8011000030102000, 0x0]),
    row("6.1.0-56-", ProgType::RawTracepoint, ALL, [0x20000, 0x0, 0x400000000000, 0x0]),
    row("6.1.0-56-", ProgType::CgroupSockAddr, 0x1e018cf00, [0x80002000400000, 0x120200000000000, 0x8011000030102000, 0x0]),
    row("6.1.0-56-", ProgType::LwtSeg6local, ALL, [0x8000a00041c000, 0x920200000010000, 0x8011000030102000, 0x0]),
    row("6.1.0-56-", ProgType::SkReuseport, ALL, [0x8000200043c000, 0x920200000010000, 0x8011000030102000, 0x0]),
    row("6.1.0-56-", ProgType::FlowDissector, ALL, [0x8000200043c000, 0x920200000010000, 0x8011000030102000, 0x0]),
    row("6.1.0-56-", ProgType::CgroupSysctl, ALL, [0x80002000400000, 0x120200000000000, 0x8011000030102000, 0x0]),
    row("6.1.0-56-", ProgType::RawTracepointWritable, ALL, [0x20000, 0x0, 0x400000000000, 0x0]),
    row("6.1.0-56-", ProgType::CgroupSockopt, 0x600000, [0x80002000400000, 0x120200000000000, 0x8011000030102000, 0x0]),
    row("6.1.0-56-", ProgType::Tracing, ALL, [0x20000, 0x0, 0x0, 0x0]),
    row("6.1.0-56-", ProgType::Lsm, ALL, [0x20000, 0x0, 0x0, 0x0]),
    row("6.1.0-56-", ProgType::SkLookup, ALL, [0x8000200043c000, 0x920200000010000, 0x8011000030102000, 0x0]),
    row("6.1.0-56-", ProgType::Syscall, ALL, [0x20000, 0x0, 0x0, 0x0]),
    row("6.12.117+", ProgType::SocketFilter, ALL, [0x80002000438000, 0x420200000000000, 0x8011000030102000, 0x0]),
    row("6.12.117+", ProgType::Kprobe, ALL, [0x20000, 0x0, 0x0, 0x0]),
    row("6.12.117+", ProgType::SchedCls, ALL, [0x80002000418000, 0x420200000000000, 0x8011000030102000, 0x0]),
    row("6.12.117+", ProgType::SchedAct, ALL, [0x80002000418000, 0x420200000000000, 0x8011000030102000, 0x0]),
    row("6.12.117+", ProgType::Tracepoint, ALL, [0x20000, 0x0, 0x0, 0x0]),
    row("6.12.117+", ProgType::Xdp, ALL, [0x80002000438000, 0x20200000000000, 0x8011000030102000, 0x0]),
    row("6.12.117+", ProgType::PerfEvent, ALL, [0x20000, 0x0, 0x0, 0x0]),
    row("6.12.117+", ProgType::CgroupSkb, 0x3, [0x80002000438000, 0x420200000000000, 0x8011000030102000, 0x0]),
    row("6.12.117+", ProgType::CgroupSock, 0x400003005, [0x80000000400000, 0x20200000000000, 0x8011000030102000, 0x0]),
    row("6.12.117+", ProgType::LwtIn, ALL, [0x80002000418000, 0x20200000000000, 0x8011000030102000, 0x0]),
    row("6.12.117+", ProgType::LwtOut, ALL, [0x80002000418000, 0x20200000000000, 0x8011000030102000, 0x0]),
    row("6.12.117+", ProgType::LwtXmit, ALL, [0x80002000418000, 0x20200000000000, 0x8011000030102000, 0x0]),
    row("6.12.117+", ProgType::SockOps, ALL, [0x80002000438000, 0x20200000000000, 0x8011000030102000, 0x0]),
    row("6.12.117+", ProgType::SkSkb, ALL, [0x80002000438000, 0x20200000000000, 0x8011000030102000, 0x0]),
    row("6.12.117+", ProgType::CgroupDevice, ALL, [0x80000000400000, 0x20200000000000, 0x8011000030102000, 0x0]),
    row("6.12.117+", ProgType::SkMsg, ALL, [0x80002000410000, 0x20200000000000, 0x8011000030102000, 0x0]),
    row("6.12.117+", ProgType::RawTracepoint, ALL, [0x20000, 0x0, 0x0, 0x0]),
    row("6.12.117+", ProgType::CgroupSockAddr, 0xe0001e018cf00, [0x80000000400000, 0x20200000000000, 0x8011000030102000, 0x0]),
    row("6.12.117+", ProgType::CgroupSockAddr, 0x30000000000000, [0x282000000400000, 0x20200000000000, 0x8011000030102000, 0x0]),
    row("6.12.117+", ProgType::LwtSeg6local, ALL, [0x8000a000418000, 0x20200000000000, 0x8011000030102000, 0x0]),
    row("6.12.117+", ProgType::SkReuseport, ALL, [0x80002000438000, 0x20200000000000, 0x8011000030102000, 0x0]),
    row("6.12.117+", ProgType::FlowDissector, ALL, [0x80002000438000, 0x20200000000000, 0x8011000030102000, 0x0]),
    row("6.12.117+", ProgType::CgroupSysctl, ALL, [0x80000000400000, 0x20200000000000, 0x8011000030102000, 0x0]),
    row("6.12.117+", ProgType::RawTracepointWritable, ALL, [0x20000, 0x0, 0x0, 0x0]),
    row("6.12.117+", ProgType::CgroupSockopt, 0x600000, [0x80000000400000, 0x20200000000000, 0x8011000030102000, 0x0]),
    row("6.12.117+", ProgType::Tracing, ALL, [0x20000, 0x0, 0x0, 0x0]),
    row("6.12.117+", ProgType::Lsm, ALL, [0x20000, 0x0, 0x0, 0x0]),
    row("6.12.117+", ProgType::SkLookup, ALL, [0x80002000438000, 0x20200000000000, 0x8011000030102000, 0x0]),
    row("6.12.117+", ProgType::Syscall, ALL, [0x20000, 0x0, 0x0, 0x0]),
    row("6.12.117+", ProgType::Netfilter, 0x200000000000, [0x80002000438000, 0x20200000000000, 0x8011000030102000, 0x0]),
    row("5.10.0-46-", ProgType::Tracing, 0x10000000, [0x202000000000000, 0x0, 0x0, 0x0]),
    row("6.1.0-56-", ProgType::Tracing, 0x800000, [0x0, 0x0, 0x400000000000, 0x0]),
    row("7.2.12+", ProgType::CgroupSockAddr, 0x30000000000000, [0x202000000000000, 0x0, 0x0, 0x0]),
    row("7.2.12+", ProgType::LwtSeg6local, ALL, [0x8000000000, 0x0, 0x0, 0x0]),
    row("7.3.4+", ProgType::CgroupSockAddr, 0x30000000000000, [0x202000000000000, 0x0, 0x0, 0x0]),
    row("7.3.4+", ProgType::LwtSeg6local, ALL, [0x8000000000, 0x0, 0x0, 0x0]),
];
