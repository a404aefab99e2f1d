//! The end of a loop that goes round is written where something jumps to it: `add i, 1; cmp i, n;
//! jne head` in place of a jump there, which would be a second jump taken in each round.
//!
//! The ops stay as they are; the emitter writes the end's code again. With fuel it does not: what
//! is left is counted at each jump backwards.

use crate::flow::Flow;
use crate::op::Op;

/// Ops of an end that is worth being written again, its jump not counted.
const OPS_MAX: usize = 3;

/// The op that goes round, if what `at` jumps to is the end of a loop: a few ops, then a jump by a
/// condition to an op before `at`.
pub(crate) fn latch(ops: &[Op], flow: &Flow, at: usize) -> Option<usize> {
    let Op::Jmp { to } = ops[at] else { return None };
    let mut count = 0;
    for (latch, op) in ops.iter().enumerate().skip(to as usize) {
        match *op {
            Op::Nop => {}
            Op::Br { to: head, .. } => {
                // A whole loop that is entered is no end of one.
                let goes_round = (head as usize) < at && flow.loop_depth[at] > 0;
                return (goes_round && head != to).then_some(latch);
            }
            _ if op.is_end() || op.is_call() || matches!(op, Op::TailCall { .. }) => return None,
            _ => count += 1,
        }
        if count > OPS_MAX {
            return None;
        }
    }
    None
}
