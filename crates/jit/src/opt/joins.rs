//! A result that is copied to another register and dead after that is computed there: `x = a + b;
//! y = x` becomes `y = a + b`, and `x += y; y = x` becomes `y += x`. Compilers for BPF copy such
//! results at the end of a loop; a copy on its own also keeps a load from becoming an operand.
//!
//! # Invariants
//! 1. Within a block. No op moves, and memory is accessed as before: only registers change.

use super::renames::{redirected, renamed};
use crate::asm::Width;
use crate::flow::Flow;
use crate::op::{AluOp, Op, Reg, RegSet, Src};
use crate::ops::Ops;

/// Maximum distance to the copy, in ops.
const WINDOW: usize = 12;

/// A copy of a register that is dead after it.
#[derive(Clone, Copy)]
struct Joined {
    at: usize,
    from: Reg,
    to: Reg,
}

/// Keeps liveness up to date.
pub(super) fn run(ops: &mut Ops, flow: &mut Flow) {
    for at in 0..ops.len() {
        let Op::Mov { width: Width::W64, dst: to, src: Src::Reg(from) } = ops[at] else { continue };
        let named = [to, from].contains(&Reg::FP) || to == from;
        if named || !flow.is_dead_after(at, from) {
            continue;
        }
        let Some((start, first)) = start(ops, flow, Joined { at, from, to }) else { continue };
        ops.set(start, first);
        for between in start + 1..at {
            if let Some(op) = renamed(ops[between], from, to) {
                ops.set(between, op);
            }
        }
        ops.set(at, Op::Nop);
        for live in &mut flow.live_out[start..at] {
            *live = live.minus(RegSet::of(&[from])).with(to);
        }
    }
}

/// The op from which on its register `to` can be used for `from`, and what it becomes.
fn start(ops: &Ops, flow: &Flow, joined: Joined) -> Option<(usize, Op)> {
    let Joined { at, from, to } = joined;
    for back in (at.saturating_sub(WINDOW)..at).rev() {
        if flow.is_target[back + 1] {
            return None;
        }
        let op = ops[back];
        if let Some(first) = begins(op, from, to) {
            return Some((back, first));
        }
        // A division uses registers of its own (`emit::div`).
        let divides = matches!(op, Op::Div { .. });
        let effect = ops.effect(back);
        let ends = effect.ends || effect.jumps || op.is_call() || divides;
        if ends || effect.touched().has(to) || renamed(op, from, to).is_none() {
            return None;
        }
    }
    None
}

/// An op that makes `from`, with its result in `to` instead.
fn begins(op: Op, from: Reg, to: Reg) -> Option<Op> {
    match op {
        Op::Alu { op, width, dst, src } if dst == from && src == Src::Reg(to) => {
            let turned = Op::Alu { op, width, dst: to, src: Src::Reg(from) };
            (op != AluOp::Sub).then_some(turned)
        }
        op => redirected(op, from, to),
    }
}
