//! Which insns remain when the kernel starts its rewrites, for checking jump offsets.
//!
//! Insns that no path walked are removed, branches with a single outcome become plain jumps, and
//! plain jumps to the next insn are removed: existing ones, and those created by the first two
//! steps. This is a single forward pass: a jump over a jump that is removed later stays, as in the
//! kernel, unless the removed insn is a `may_goto`, after which the kernel checks again.
//!
//! Without CAP_BPF nothing is removed.
//!
//! Kernel: `remove_fastcall_spills_fills`, `opt_hard_wire_dead_code_branches`,
//! `opt_remove_dead_code`, `opt_remove_nops` (6.18), as observed by the resulting program length.

use crate::env::{Env, InsnFlags};
use crate::passes::call_facts::is_may_goto;
use crate::passes::subprogs::jump_offset;
use crate::xlated::is_jump;
use skep_insn::code::*;

/// Whether some path walked the insn. The second slot of `ld_imm64` counts as its first.
pub(super) fn was_walked(env: &Env<'_>, idx: usize) -> bool {
    let first = if idx > 0 && env.facts.insns[idx - 1].is_ld_imm64() { idx - 1 } else { idx };
    env.learned.aux[first].has(InsnFlags::SEEN)
}

/// For each insn: whether it remains.
pub(crate) fn insns_left(env: &Env<'_>) -> Vec<bool> {
    let len = env.facts.insns.len();
    if !env.facts.bpf_capable {
        return vec![true; len];
    }
    let mut left: Vec<bool> = (0..len).map(|idx| was_walked(env, idx)).collect();
    let mut steps: Vec<Step> = (0..len).map(|idx| step(env, idx)).collect();
    for call in (0..len).filter(|&idx| left[idx]) {
        for distance in 1..=env.learned.fastcall.spills_around(call) {
            steps[call - distance] = Step::Nothing;
            steps[call + distance] = Step::Nothing;
        }
    }
    // First insn that was walked, at or after an index.
    let mut next = vec![len; len + 1];
    for idx in (0..len).rev() {
        next[idx] = if left[idx] { idx } else { next[idx + 1] };
    }
    // The remaining insns so far.
    let mut before: Vec<usize> = Vec::with_capacity(len);
    for idx in 0..len {
        if !left[idx] {
            continue;
        }
        before.push(idx);
        while let Some(&at) = before.last() {
            if !steps[at].does_nothing(at, next[idx + 1]) {
                break;
            }
            before.pop();
            left[at] = false;
            if !is_may_goto(&env.facts.insns[at]) {
                break;
            }
        }
    }
    left
}

/// The effect of an insn on control flow, if it has no other effect.
#[derive(Clone, Copy)]
enum Step {
    /// It has another effect.
    Works,
    /// Continues with the next insn.
    Nothing,
    /// Continues with this insn.
    Jumps(usize),
}

fn step(env: &Env<'_>, idx: usize) -> Step {
    let insn = env.facts.insns[idx];
    if !is_jump(insn) || !was_walked(env, idx) || insn.code == BPF_JMP32 | BPF_JA {
        return Step::Works;
    }
    let target = idx as i64 + 1 + jump_offset(&insn);
    let jumps = usize::try_from(target).map_or(Step::Works, Step::Jumps);
    let walked = |at: i64| usize::try_from(at).is_ok_and(|at| was_walked(env, at));
    match insn.code {
        _ if insn.op() == BPF_JA => jumps,
        _ if !walked(idx as i64 + 1) => jumps,
        _ if !walked(target) => Step::Nothing,
        _ if is_may_goto(&insn) => jumps,
        _ => Step::Works,
    }
}

/// Whether the jump at `idx`, which remains, is taken whenever it is reached.
pub(super) fn always_jumps(env: &Env<'_>, idx: usize) -> bool {
    env.facts.insns[idx].op() == BPF_JA
        || env.facts.bpf_capable && matches!(step(env, idx), Step::Jumps(_))
}

impl Step {
    /// Whether the insn at `idx` only continues with the next remaining insn, the one at `next`.
    fn does_nothing(self, idx: usize, next: usize) -> bool {
        match self {
            Step::Works => false,
            Step::Nothing => true,
            Step::Jumps(target) => idx < target && target <= next,
        }
    }
}
