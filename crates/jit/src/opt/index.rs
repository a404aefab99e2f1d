//! Folds sums and shifts made in place that are only used in addresses: `r7 += r2; load [r7]`
//! becomes `load [r7 + r2]`, a preceding `r2 <<= 3` a scale.
//!
//! `address` does the same for sums whose operands are still in registers; here, the op overwrites
//! an operand, so it can only be removed if its result has no other users.
//!
//! # Invariants
//! 1. Loads and stores are not moved, except by `kept`: only the computation of their addresses
//!    changes.

mod form;
mod kept;

use crate::flow::Flow;
use crate::op::{Op, Reg, RegSet};
use crate::ops::Ops;
use form::{Form, factor, made, rewritten};
use kept::Def;

/// Maximum distance to the users of an address, in ops, and their maximum number.
const WINDOW: usize = 32;
const READS_MAX: usize = 8;

/// Keeps liveness up to date.
pub(super) fn run(ops: &mut Ops, flow: &mut Flow) {
    // Backwards: once a sum is in the address, the shift of its operand may be folded, too.
    for at in (0..ops.len()).rev() {
        let Some((reg, made)) = made(&ops[at]) else { continue };
        let Some(reads) = reads(ops, flow, at, reg, made) else {
            kept::run(ops, flow, &Def { at, reg, form: made });
            continue;
        };
        let Some(last) = reads.last().copied() else { continue };
        for read in reads {
            if let Some(better) = rewritten(&ops[read], reg, made) {
                ops.set(read, better);
            }
        }
        ops.set(at, factor(&ops[at]).map_or(Op::Nop, |(left, _)| left));
        // The operands stay live up to the last use, and the sum does not.
        for live in &mut flow.live_out[at..last] {
            *live = live.minus(RegSet::of(&[reg])).or(made.parts(reg));
        }
    }
}

/// The ops that use `reg`, if all of them can be rewritten and there are no others.
fn reads(ops: &Ops, flow: &Flow, at: usize, reg: Reg, made: Form) -> Option<Vec<usize>> {
    let mut parts = made.parts(reg);
    let mut reads = Vec::new();
    if !flow.live_out[at].has(reg) {
        return None;
    }
    for next in (at + 1..ops.len()).take(WINDOW) {
        if flow.is_target[next] {
            return None;
        }
        let (op, effect) = (&ops[next], ops.effect(next));
        if effect.uses.has(reg) {
            let intact = parts == made.parts(reg);
            if !intact || reads.len() == READS_MAX || rewritten(op, reg, made).is_none() {
                return None;
            }
            reads.push(next);
        }
        parts = parts.minus(effect.defs);
        if effect.defs.has(reg) || !flow.live_out[next].has(reg) {
            return Some(reads);
        }
        // A jump is passed if nothing reads the address where it goes.
        let needed =
            effect.jumps && op.target().is_some_and(|to| flow.live_in(ops, to as usize).has(reg));
        if effect.ends || needed {
            return None;
        }
    }
    None
}
