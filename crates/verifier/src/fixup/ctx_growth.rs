//! The insns that rewrites add to context accesses, by program type and field.
//!
//! Kernel: `convert_ctx_accesses` and the `convert_ctx_access` of each program type (6.18), as
//! observed. Absent: the time stamp of `struct __sk_buff`, whose rewrite depends on what else the
//! program reads.

use super::ctx_growth_skb::*;
use super::ctx_growth_sock::*;
use crate::fixup::ctx_growth_row::{Row, X};
use crate::fixup::grown::Growth;
use skep_insn::Insn;
use skep_insn::code::*;
use skep_program::Program;
use skep_uapi::ProgType;
use skep_uapi::ctx::{CtxField, CtxLayout, CtxRange};

/// Upper bound if the growth is not known.
const UNKNOWN: Growth = Growth::AtMost(16);

/// The rows of all programs with a context of this type and attach type; none if the context is not
/// converted.
struct Table {
    prog_type: ProgType,
    attach: u32,
    rows: &'static [Row],
}

const fn of(prog_type: ProgType, attach: u32, rows: &'static [Row]) -> Table {
    Table { prog_type, attach, rows }
}

const PLAIN: [Row; 0] = [];

static TABLES: [Table; 32] = [
    of(ProgType::SocketFilter, 0, &SOCKET_FILTER),
    of(ProgType::Kprobe, 0, &PLAIN),
    of(ProgType::SchedCls, 0, &SCHED),
    of(ProgType::Tracepoint, 0, &PLAIN),
    of(ProgType::Xdp, 33, &XDP_DEVMAP),
    of(ProgType::Xdp, 0, &XDP),
    of(ProgType::PerfEvent, 0, &PERF_EVENT),
    of(ProgType::CgroupSkb, 0, &CGROUP_SKB),
    of(ProgType::CgroupSock, 0, &CGROUP_SOCK),
    of(ProgType::CgroupSock, 12, &CGROUP_SOCK_POST_BIND4),
    of(ProgType::CgroupSock, 13, &CGROUP_SOCK_POST_BIND6),
    of(ProgType::LwtIn, 0, &LWT),
    of(ProgType::LwtXmit, 0, &LWT),
    of(ProgType::SockOps, 0, &SOCK_OPS),
    of(ProgType::SkSkb, 0, &SK_SKB),
    of(ProgType::CgroupDevice, 0, &PLAIN),
    of(ProgType::SkMsg, 0, &SK_MSG),
    of(ProgType::RawTracepoint, 0, &PLAIN),
    of(ProgType::CgroupSockAddr, 8, &SOCK_ADDR_INET4),
    of(ProgType::CgroupSockAddr, 9, &SOCK_ADDR_INET6),
    of(ProgType::CgroupSockAddr, 14, &SOCK_ADDR_SENDMSG4),
    of(ProgType::CgroupSockAddr, 15, &SOCK_ADDR_SENDMSG6),
    of(ProgType::CgroupSockAddr, 49, &SOCK_ADDR_UNIX),
    of(ProgType::SkReuseport, 0, &SK_REUSEPORT),
    of(ProgType::FlowDissector, 0, &PLAIN),
    of(ProgType::CgroupSysctl, 0, &CGROUP_SYSCTL),
    of(ProgType::RawTracepointWritable, 0, &PLAIN),
    of(ProgType::CgroupSockopt, 21, &CGROUP_GETSOCKOPT),
    of(ProgType::CgroupSockopt, 22, &CGROUP_SETSOCKOPT),
    of(ProgType::SkLookup, 36, &SK_LOOKUP),
    of(ProgType::Syscall, 0, &PLAIN),
    of(ProgType::Netfilter, 45, &PLAIN),
];

/// The number of insns added to `insn`, which loads from or stores to the context of `program`.
pub(super) fn growth(program: &Program, insn: Insn) -> Growth {
    let layout = CtxLayout::find(program.prog_type, program.expected_attach_type);
    let Some(layout) = layout else { return UNKNOWN };
    let fields = layout.fields();
    let Some(rows) = rows(fields) else { return UNKNOWN };
    if rows.is_empty() {
        return Growth::Exactly(0);
    }
    let at = CtxRange { off: insn.off.into(), size: insn.size_bytes() };
    let is_load = insn.class() == BPF_LDX;
    let signed = insn.mode() == BPF_MEMSX;
    let access = if is_load { layout.load(at, signed) } else { layout.store(at) };
    let index = access.and_then(|access| fields.iter().position(|f| std::ptr::eq(f, access.field)));
    let Some((row, field)) = index.and_then(|i| rows.get(i).zip(fields.get(i))) else {
        return UNKNOWN;
    };
    debug_assert_eq!(row.name, field.name);
    let added = match insn.class() {
        BPF_LDX => load(row, field, insn),
        BPF_ST => [row.store_imm, 0, 0, 0],
        _ => [row.store_reg, 0, 0, 0],
    };
    if added.contains(&X) { UNKNOWN } else { Growth::Exactly(added.map(u32::from).iter().sum()) }
}

/// The number of insns for: the whole field, a part of it, the register, sign extension.
fn load(row: &Row, field: &CtxField, insn: Insn) -> [u8; 4] {
    let from_start = (i32::from(insn.off) - field.off).rem_euclid(field.unit as i32);
    let part = match insn.size_bytes() {
        _ if row.bytes == X => X,
        size if size >= u32::from(row.bytes) => 0,
        _ if from_start == 0 => 1,
        _ => 2,
    };
    let same = if insn.dst == insn.src { row.same } else { 0 };
    let sign = if insn.mode() == BPF_MEMSX { row.sign } else { 0 };
    [row.load, part, same, sign]
}

fn rows(fields: &[CtxField]) -> Option<&'static [Row]> {
    let same = |table: &&Table| {
        let layout = CtxLayout::find(table.prog_type, table.attach);
        layout.is_some_and(|layout| std::ptr::eq(layout.fields(), fields))
    };
    TABLES.iter().find(same).map(|table| table.rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_of_the_fields() {
        for table in &TABLES {
            let layout = CtxLayout::find(table.prog_type, table.attach).expect("a layout");
            let named = layout.fields().iter().zip(table.rows);
            named.for_each(|(field, row)| assert_eq!(field.name, row.name));
            let len = layout.fields().len();
            assert!(table.rows.is_empty() || table.rows.len() == len, "{}", table.prog_type);
        }
    }
}
