//! Short loops are written several times in a row: a processor that takes one jump in a cycle would
//! wait for it otherwise.
//!
//! The ops stay as they are; the emitter writes their code again (each time the loop may be left).
//! With fuel, loops are not unrolled: what is left is counted at each round.

use crate::flow::Flow;
use crate::op::Op;

/// A loop of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loop {
    /// First op, and the one that jumps back to it.
    pub(crate) head: usize,
    pub(crate) latch: usize,
    /// How often its code is written.
    pub(crate) times: u32,
}

/// Ops that all rounds together may have.
const OPS_MAX: u32 = 24;
const TIMES_MAX: u32 = 4;

/// The loops to unroll, in order.
pub(crate) fn plan(ops: &[Op], flow: &Flow) -> Vec<Loop> {
    let mut loops = Vec::new();
    for (latch, op) in ops.iter().enumerate() {
        let Op::Br { to, .. } = *op else { continue };
        let head = to as usize;
        if head >= latch {
            continue;
        }
        let body = &ops[head..latch];
        let entered = (head + 1..=latch).any(|at| flow.is_target[at]);
        let leaves = |op: &Op| match *op {
            Op::Br { to, .. } => to as usize > latch,
            _ => !(op.is_end() || op.is_call() || matches!(op, Op::TailCall { .. })),
        };
        let count = body.iter().filter(|op| **op != Op::Nop).count() as u32 + 1;
        let times = (OPS_MAX / count).min(TIMES_MAX);
        if times >= 2 && !entered && body.iter().all(leaves) {
            loops.push(Loop { head, latch, times });
        }
    }
    loops
}
