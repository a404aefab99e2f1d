//! Removes ops whose results no one reads.

use crate::flow::Flow;
use crate::op::Op;

/// Whether something changed.
pub(super) fn run(ops: &mut [Op], flow: &Flow) -> bool {
    let mut changed = false;
    for (at, op) in ops.iter_mut().enumerate() {
        if op.is_pure() && !op.defs().meets(flow.live_out[at]) {
            *op = Op::Nop;
            changed = true;
        }
    }
    changed
}
