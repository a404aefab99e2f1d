//! The context of a program: what may be loaded from it and stored to it.
//!
//! Kernel: the `is_valid_access` of each program type, 6.18.
//!
//! Tests: `tests/ctx_access.rs` repeats every answer of the kernel.

use super::field::{CtxField, CtxRange};
use super::layout_row::{CtxLayout, LayoutRow};
use super::layout_table::LAYOUT_ROWS;
use super::value::CtxValue;
use crate::ProgType;

/// An access that is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CtxAccess {
    /// The result of a load; meaningless for a store.
    pub value: CtxValue,
    /// The field that is accessed.
    pub field: &'static CtxField,
}

impl CtxLayout {
    /// The layout of a kind of program; `None` if the kernel has no such kind, or nothing is known
    /// about it.
    pub fn find(prog_type: ProgType, attach_type: u32) -> Option<CtxLayout> {
        let fits =
            |row: &&LayoutRow| row.prog_type == prog_type && row.attach.contains(attach_type);
        LAYOUT_ROWS.iter().find(fits).map(|row| row.layout)
    }

    /// The result of a load; `None` if it is rejected or the layout is in BTF. `sign_extend` is a
    /// BPF_MEMSX load.
    pub fn load(self, at: CtxRange, sign_extend: bool) -> Option<CtxAccess> {
        let field = self.fields().iter().find(|f| f.may_load(at))?;
        let access = CtxAccess { value: field.value, field };
        field.value.loads(sign_extend).then_some(access)
    }

    /// The field that a store changes; `None` if it is rejected or the layout is in BTF.
    pub fn store(self, at: CtxRange) -> Option<CtxAccess> {
        let field = self.fields().iter().find(|f| f.may_store(at))?;
        Some(CtxAccess { value: field.value, field })
    }

    /// Rows, by offset; empty if the layout is in BTF.
    pub fn fields(self) -> &'static [CtxField] {
        match self {
            CtxLayout::Fields(fields) => fields,
            CtxLayout::Btf => &[],
        }
    }
}

/// Name of the context's type in the UAPI; `None` where it has no name of its own.
pub fn ctx_struct(prog_type: ProgType) -> Option<&'static str> {
    use ProgType as P;
    Some(match prog_type {
        P::SocketFilter
        | P::SchedCls
        | P::SchedAct
        | P::CgroupSkb
        | P::LwtIn
        | P::LwtOut
        | P::LwtXmit
        | P::LwtSeg6local
        | P::SkSkb
        | P::FlowDissector => "__sk_buff",
        P::Xdp => "xdp_md",
        P::CgroupSock => "bpf_sock",
        P::CgroupSockAddr => "bpf_sock_addr",
        P::SockOps => "bpf_sock_ops",
        P::SkMsg => "sk_msg_md",
        P::Kprobe => "pt_regs",
        P::PerfEvent => "bpf_perf_event_data",
        P::RawTracepoint | P::RawTracepointWritable => "bpf_raw_tracepoint_args",
        P::CgroupDevice => "bpf_cgroup_dev_ctx",
        P::CgroupSysctl => "bpf_sysctl",
        P::CgroupSockopt => "bpf_sockopt",
        P::SkReuseport => "sk_reuseport_md",
        P::SkLookup => "bpf_sk_lookup",
        P::Netfilter => "bpf_nf_ctx",
        _ => return None,
    })
}

/// Whether this access needs CAP_BPF. Only for programs that the kernel accepts from unprivileged
/// users.
///
/// Documented, not tested: the tested machine lets nobody load programs without CAP_BPF.
pub fn needs_cap_bpf(prog_type: ProgType, field: &CtxField, store: bool) -> bool {
    let packet = matches!(field.value, CtxValue::Packet | CtxValue::PacketEnd);
    prog_type == ProgType::CgroupSkb && (packet || (store && field.name == "tstamp"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_ascend_and_fit_their_units() {
        for row in &LAYOUT_ROWS {
            let fields = row.layout.fields();
            for pair in fields.windows(2) {
                assert!(pair[0].off <= pair[1].off, "{} {}", row.prog_type, pair[1].name);
            }
            for field in fields {
                assert!(field.unit <= 8 && field.unit.is_power_of_two(), "{}", field.name);
                assert!(!field.name.is_empty());
            }
        }
    }

    #[test]
    fn rows_are_sorted_and_cover_every_type() {
        for pair in LAYOUT_ROWS.windows(2) {
            assert!(pair[0].prog_type <= pair[1].prog_type);
        }
        for prog_type in ProgType::all() {
            let known = LAYOUT_ROWS.iter().any(|row| row.prog_type == prog_type);
            let want = !matches!(prog_type, ProgType::Unspec | ProgType::LircMode2);
            assert_eq!(known, want, "{prog_type}");
        }
    }

    /// Observed on 6.18: `r0 = *(s32 *)(r1 +76)` in sched_cls is an invalid access, `*(s32 *)(r1
    /// +0)` is not.
    #[test]
    fn packet_pointers_do_not_sign_extend() {
        let ctx = CtxLayout::find(ProgType::SchedCls, 0).expect("sched_cls");
        let at = |off| CtxRange { off, size: 4 };
        assert!(ctx.load(at(76), false).is_some());
        assert!(ctx.load(at(76), true).is_none());
        assert!(ctx.load(at(0), true).is_some());
    }

    /// Observed on 6.18 with tracepoint and raw tracepoint programs.
    #[test]
    fn raw_arguments_end_where_the_kernel_ends_them() {
        let may = |prog_type, off, size| {
            let ctx = CtxLayout::find(prog_type, 0).expect("a layout");
            ctx.load(CtxRange { off, size }, false).is_some()
        };
        assert!(may(ProgType::Tracepoint, 8184, 8));
        assert!(may(ProgType::Tracepoint, 8191, 1));
        assert!(!may(ProgType::Tracepoint, 8192, 1));
        assert!(!may(ProgType::Tracepoint, 7, 1));
        assert!(may(ProgType::Tracepoint, -32768, 8));
        assert!(may(ProgType::RawTracepoint, 88, 8));
        assert!(!may(ProgType::RawTracepoint, 96, 1));
    }
}
