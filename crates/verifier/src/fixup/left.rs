//! Which insns remain when the kernel starts its rewrites. For jump offsets, it counts those.
//!
//! Insns that no path walked go, branches that always go one way become plain jumps, and plain
//! jumps to the next insn go: those that were there, and those that the first two steps make. It
//! is one pass forwards: a jump over a jump that goes later stays, as the kernel leaves it, unless
//! what goes is a `may_goto`, behind which it looks again.
//!
//! Without CAP_BPF nothing goes.
//!
//! Kernel: `remove_fastcall_spills_fills`, `opt_hard_wire_dead_code_branches`,
//! `opt_remove_dead_code`, `opt_remove_nops` (6.18), as observed by the length of what is left.

use crate::env::{Env, InsnFlags};
use crate::passes::call_facts::is_may_goto;
use crate::passes::subprogs::jump_offset;
use crate::xlated::is_jump;
use skep_insn::code::*;

/// Whether some path walked the insn. The second slot of `ld_imm64` is its first's.
pub(super) fn was_walked(env: &Env<'_>, idx: usize) -> bool {
    let first = if idx > 0 && env.facts.insns[idx - 1].is_ld_imm64() { idx - 1 } else { idx };
    env.learned.aux[first].has(InsnFlags::SEEN)
}

/// For each insn whether it is left.
pub(super) fn insns(env: &Env<'_>) -> Vec<bool> {
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
    // What is left of the insns so far.
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

/// Where an insn leads that may do nothing else.
#[derive(Clone, Copy)]
enum Step {
    /// It does something.
    Works,
    /// To the next insn.
    Nothing,
    /// To this one.
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

impl Step {
    /// Whether the step from `idx` leads to what is left next: the insn at `next`.
    fn does_nothing(self, idx: usize, next: usize) -> bool {
        match self {
            Step::Works => false,
            Step::Nothing => true,
            Step::Jumps(target) => idx < target && target <= next,
        }
    }
}
