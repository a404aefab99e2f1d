//! The end of a loop is duplicated at jumps to it: `add i, 1; cmp i, n; jne head` instead of a jump
//! there, which would be a second taken jump per iteration.
//!
//! The ops are not changed; the emitter emits the code of the end again. Not with fuel, which is
//! counted at each backward jump.

use crate::flow::Flow;
use crate::op::Op;

/// Maximum number of ops in a duplicated end, not counting its jump.
const OPS_MAX: usize = 3;

/// The op that continues the loop, if the target of `at` is the end of the loop: a few ops, then a
/// conditional jump to an op before `at`.
pub(crate) fn latch(ops: &[Op], flow: &Flow, at: usize) -> Option<usize> {
    let Op::Jmp { to } = ops[at] else { return None };
    let mut count = 0;
    for (latch, op) in ops.iter().enumerate().skip(to as usize) {
        match *op {
            Op::Nop => {}
            Op::Br { to: head, .. } => {
                // The entry of a nested loop is not the end of the outer one.
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
