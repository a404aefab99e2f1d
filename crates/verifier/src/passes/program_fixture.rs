//! Small programs for the tests of the passes; one function per insn.
//!
//! Every expected value in those tests was printed by Linux 6.18 for the same insns.

use super::call_facts::{CallFacts, Callees};
use super::subprogs::{StartSet, Subprogs, check_subprogs, find_subprogs};
use skep_insn::Insn;
use skep_insn::code::*;
use skep_uapi::Insns;

pub(super) fn insn(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> Insn {
    Insn { code, dst, src, off, imm }
}
pub(super) fn mov(dst: u8, imm: i32) -> Insn {
    insn(BPF_ALU64 | BPF_MOV, dst, 0, 0, imm)
}
pub(super) fn mov_reg(dst: u8, src: u8) -> Insn {
    insn(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
}
pub(super) fn jeq(dst: u8, imm: i32, off: i16) -> Insn {
    insn(BPF_JMP | BPF_JEQ, dst, 0, off, imm)
}
pub(super) fn goto(off: i16) -> Insn {
    insn(BPF_JMP | BPF_JA, 0, 0, off, 0)
}
pub(super) fn may_goto(off: i16) -> Insn {
    insn(BPF_JMP | BPF_JCOND, 0, 0, off, 0)
}
pub(super) fn helper(id: i32) -> Insn {
    insn(BPF_JMP | BPF_CALL, 0, 0, 0, id)
}
pub(super) fn call(imm: i32) -> Insn {
    insn(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, imm)
}
pub(super) fn exit() -> Insn {
    insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
}
/// `*(u64 *)(r10 + off) = src`
pub(super) fn spill(off: i16, src: u8) -> Insn {
    insn(BPF_STX | BPF_MEM | BPF_DW, 10, src, off, 0)
}
/// `dst = *(u64 *)(r10 + off)`
pub(super) fn fill(dst: u8, off: i16) -> Insn {
    insn(BPF_LDX | BPF_MEM | BPF_DW, dst, 10, off, 0)
}

/// Finds and checks the subprogs of a valid program.
pub(super) fn subprogs_of(insns: &[Insn]) -> Subprogs {
    let mut starts = StartSet::new(insns.len());
    find_subprogs(insns, true, true, &mut starts, |_, _| Ok(())).expect("finds subprogs");
    let mut subprogs = starts.into_subprogs(None);
    check_subprogs(insns, Insns::all(), &mut subprogs).expect("subprogs are closed");
    subprogs
}

/// The message of a refusal.
pub(super) fn message<T>(result: Result<T, super::PassReject>) -> String {
    result.err().map_or("accepted".into(), |r| r.kind.to_string())
}

/// A few helpers as for a socket filter.
pub(super) struct SocketFilter;

impl Callees for SocketFilter {
    fn helper(&self, id: i32) -> CallFacts {
        let known = |n| CallFacts { num_params: Some(n), ..CallFacts::default() };
        match id {
            1 => known(2),
            5 | 7 => known(0),
            8 => CallFacts { fastcall: true, ..known(0) },
            12 => CallFacts { changes_pkt_data: true, ..known(3) },
            26 => known(4),
            181 => CallFacts { sync_callback: true, ..known(4) },
            _ => CallFacts::default(),
        }
    }
    fn kfunc(&self, _: &Insn) -> CallFacts {
        CallFacts::default()
    }
}
