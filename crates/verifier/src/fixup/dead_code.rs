//! Removes insns that no path reaches, and replaces branches with a single outcome by unconditional
//! jumps.
//!
//! Kernel: `opt_hard_wire_dead_code_branches`, `opt_remove_dead_code`, `opt_remove_nops` (6.18).

use super::emit::Emit;
use super::source::Source;
use crate::passes::call_facts::{callee_start, is_may_goto, is_pseudo_call, is_pseudo_func};
use crate::passes::subprogs::jump_offset;
use crate::xlated::is_jump;
use skep_insn::Insn;
use skep_insn::code::*;

/// The outcome of a jump over all paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Not a jump, or both outcomes were walked.
    Open,
    /// Never taken.
    Falls,
    /// Always taken.
    Jumps,
}

/// The outcome of the jump at `idx` over all paths.
pub(super) fn way(source: &Source<'_>, idx: usize) -> Way {
    let insn = source.insns[idx];
    if !is_jump(insn) {
        return Way::Open;
    }
    if insn.op() == BPF_JA {
        return Way::Jumps;
    }
    let seen = |at: usize| at < source.insns.len() && source.walked.seen(source.insns, at);
    let target = target(idx, insn) as usize;
    match (seen(idx + 1), seen(target)) {
        (true, true) if target == idx + 1 && !is_may_goto(&insn) => Way::Falls,
        (true, true) | (false, false) => Way::Open,
        (true, false) => Way::Falls,
        (false, true) => Way::Jumps,
    }
}

/// The target of the jump at `idx` in the old program.
pub(super) fn target(idx: usize, insn: Insn) -> u32 {
    (idx as i64 + 1 + jump_offset(&insn)) as u32
}

/// For each insn: whether it is kept.
pub(super) fn kept(source: &Source<'_>) -> Vec<bool> {
    let len = source.insns.len();
    let mut kept = vec![false; len];
    // First insn that is kept at or after an index.
    let mut next = vec![len; len + 1];
    for idx in (0..len).rev() {
        let insn = source.insns[idx];
        next[idx] = next[idx + 1];
        if !source.walked.seen(source.insns, idx) {
            continue;
        }
        let does_nothing = match way(source, idx) {
            Way::Open => is_may_goto(&insn) && insn.off == 0,
            Way::Falls => true,
            Way::Jumps => {
                let target = target(idx, insn) as usize;
                target > idx && target <= len && next[target] == next[idx + 1]
            }
        };
        kept[idx] = !does_nothing;
        if kept[idx] {
            next[idx] = idx;
        }
    }
    kept
}

/// Copies the insn at `idx`; a branch with one outcome becomes `goto`.
pub(super) fn copy(source: &Source<'_>, idx: usize, out: &mut Emit) {
    let insn = source.insns[idx];
    if is_jump(insn) {
        let to = target(idx, insn);
        let plain = Insn { code: BPF_JMP | BPF_JA, ..Insn::default() };
        let long = insn.code == BPF_JMP32 | BPF_JA;
        let jump = if way(source, idx) == Way::Jumps && !long { plain } else { insn };
        return out.push_to(jump, to);
    }
    if is_pseudo_call(&insn) || is_pseudo_func(&insn) {
        return out.push_to(insn, callee_start(idx, &insn) as u32);
    }
    out.push(insn);
}
