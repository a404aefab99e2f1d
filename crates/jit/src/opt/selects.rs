//! The smaller or the larger of two numbers: `x = a; if a > b goto +1; x = b` becomes a conditional
//! move.
//!
//! Compilers for BPF have no other way to write it. Numbers of which one is chosen are in no known
//! order, so the jump is often mispredicted; of other choices, jumps are faster.
//!
//! Likewise `x = 1; if a > b goto +1; x = 0`, if `x` is then only compared: one jump is left, on
//! which nothing else waits. Results that become addresses or sums stay jumps, which are predicted.
//!
//! # Invariants
//! 1. No access to memory is touched: the ops are a comparison of registers and a copy.

use crate::asm::Width;
use crate::flow::Flow;
use crate::op::{Cond, Op, Reg, Size, Src};
use crate::ops::Ops;

/// Maximum distance to the op that made a number, in ops.
const WINDOW: usize = 24;
/// Rounds, each of which joins the blocks that the next one looks at.
const ROUNDS: usize = 4;

/// Keeps targets and liveness up to date. With coverage, a conditional move counts both outcomes of
/// the jump that it replaces; results that are numbers stay jumps.
pub(super) fn run(ops: &mut Ops, flow: &mut Flow, counts: bool) {
    for _ in 0..ROUNDS {
        let mut found = false;
        for at in 0..ops.len() {
            if let Some((copy, chosen)) = choice(ops, flow, at, counts) {
                ops.set(at, chosen);
                ops.set(copy, Op::Nop);
                found = true;
            } else if let Some((first, second, set)) = outcome(ops, flow, at)
                && !counts
            {
                ops.set(first, Op::Nop);
                ops.set(second, Op::Nop);
                ops.set(at, set);
                found = true;
            }
        }
        if !found {
            break;
        }
        flow.find_targets(ops);
        flow.find_live(ops);
    }
}

/// The first op from `at` on that is not a no-op.
fn skipped(ops: &[Op], at: usize) -> usize {
    at + ops.iter().skip(at).take_while(|op| op.is_nop()).count()
}

/// Whether a jump there passes over nothing but the op at `last`.
fn is_over(ops: &[Op], last: usize, to: u32) -> bool {
    (last + 1..=skipped(ops, last + 1)).contains(&(to as usize))
}

/// If the op is a jump over a copy of one of the numbers that it compares, to where the other one
/// is: the copy, and the conditional move in place of both. If that `counts`, nothing up to the
/// target may be entered from elsewhere, no-ops included.
fn choice(ops: &[Op], flow: &Flow, at: usize, counts: bool) -> Option<(usize, Op)> {
    let Op::Br { mut test, to } = ops[at] else { return None };
    let Src::Reg(b) = test.b else { return None };
    let copy = skipped(ops, at + 1);
    let Some(&Op::Mov { width, dst, src: Src::Reg(src) }) = ops.get(copy) else { return None };
    if !is_over(ops, copy, to) || [test.a, b, dst].contains(&Reg::FP) {
        return None;
    }
    let end = if counts { to as usize } else { copy + 1 };
    if (at + 1..end).any(|between| flow.is_target[between]) {
        return None;
    }
    let is_order = !matches!(test.cond, Cond::Eq | Cond::Ne | Cond::Set | Cond::NotSet);
    let other = if src == b { test.a } else { b };
    let chooses = [test.a, b].contains(&src) && holds(ops, flow, at, dst, other);
    // A conditional move of 32 bits clears the upper half in any case.
    let fits = width == Width::W64 || is_extended(ops, flow, at, dst);
    test.cond = test.cond.negated();
    (is_order && chooses && fits).then_some((copy, Op::Select { test, width, dst, src, to }))
}

/// If the op is a jump over `x = 0`, before which `x` is 1, or the other way round, and `x` is only
/// compared: both assignments, and the op in place of the jump.
fn outcome(ops: &[Op], flow: &Flow, at: usize) -> Option<(usize, usize, Op)> {
    let Op::Br { mut test, to } = ops[at] else { return None };
    let second = skipped(ops, at + 1);
    let Some(&Op::Mov { dst, src: Src::Imm(otherwise), .. }) = ops.get(second) else { return None };
    let is_entered = (at + 1..=second).any(|between| flow.is_target[between]);
    let is_over = is_over(ops, second, to);
    if is_entered || !is_over || test.uses().has(Reg::FP) || test.uses().has(dst) {
        return None;
    }
    let first = written(ops, flow, at, dst)?;
    let Op::Mov { src: Src::Imm(taken), .. } = ops[first] else { return None };
    let reads = |op: &Op| op.uses().has(dst) || op.target().is_some();
    let is_read = ops[first + 1..at].iter().any(reads);
    match (taken, otherwise) {
        (1, 0) => {}
        (0, 1) => test.cond = test.cond.negated(),
        _ => return None,
    }
    let fits = !is_read && is_only_compared(ops, flow, skipped(ops, second + 1), dst);
    fits.then_some((first, second, Op::Set { test, dst }))
}

/// Whether `reg` is only read by a comparison with a register, in the block that starts at `at`.
fn is_only_compared(ops: &[Op], flow: &Flow, at: usize, reg: Reg) -> bool {
    for (next, op) in ops.iter().enumerate().skip(at).take(WINDOW) {
        if next > at && flow.is_target[next] {
            return false;
        }
        if op.uses().has(reg) {
            let Op::Br { test, .. } = op else { return false };
            let is_equality = matches!(test.cond, Cond::Eq | Cond::Ne);
            let compares = matches!(test.b, Src::Reg(b) if b != test.a);
            return is_equality && compares && flow.is_dead_after(next, reg);
        }
        if op.defs().has(reg) || op.target().is_some() || op.is_end() {
            return false;
        }
    }
    false
}

/// The op before `at` in its block that last wrote `reg`.
fn written(ops: &[Op], flow: &Flow, at: usize, reg: Reg) -> Option<usize> {
    for back in (at.saturating_sub(WINDOW)..at).rev() {
        if flow.is_target[back + 1] || ops[back].is_end() {
            return None;
        }
        if ops[back].defs().has(reg) {
            return Some(back);
        }
    }
    None
}

/// Whether `dst` has the value of `other`: it is the same, or a copy.
fn holds(ops: &[Op], flow: &Flow, at: usize, dst: Reg, other: Reg) -> bool {
    if dst == other {
        return true;
    }
    let Some(from) = written(ops, flow, at, dst) else { return false };
    let copies = matches!(ops[from], Op::Mov { src: Src::Reg(src), .. } if src == other);
    copies && !ops[from + 1..at].iter().any(|op| op.defs().has(other))
}

/// Whether the upper half of `dst` is 0.
fn is_extended(ops: &[Op], flow: &Flow, at: usize, dst: Reg) -> bool {
    let Some(from) = written(ops, flow, at, dst) else { return false };
    match ops[from] {
        Op::Mov { width: Width::W64, src: Src::Reg(src), .. } => is_extended(ops, flow, from, src),
        Op::Mov { width, src: Src::Reg(_), .. }
        | Op::Alu { width, .. }
        | Op::Shift { width, .. }
        | Op::Lea { width, .. }
        | Op::Select { width, .. } => width == Width::W32,
        Op::Load { size, sign, .. } => !sign && size != Size::B8,
        Op::Zext { .. } => true,
        _ => false,
    }
}
