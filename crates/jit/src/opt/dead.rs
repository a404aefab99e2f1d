//! Dead code elimination. Loads from shared memory are kept.

use crate::flow::Flow;
use crate::op::{Op, RegSet};

/// Whether something changed.
pub(super) fn run(ops: &mut [Op], flow: &Flow) -> bool {
    let mut changed = false;
    let mut live = RegSet::NONE;
    // Backwards, so that ops that only feed dead ops are removed, too.
    for at in (0..ops.len()).rev() {
        let op = ops[at];
        if op.target().is_some() || op.is_end() || flow.is_target[at + 1] {
            live = flow.live_out[at];
        }
        let same = matches!(op, Op::Mov { width: crate::asm::Width::W64, dst, src }
            if src == crate::op::Src::Reg(dst));
        if same || (op.is_pure() && !op.defs().meets(live)) {
            ops[at] = Op::Nop;
            changed = true;
        } else {
            live = live.minus(op.defs()).or(op.uses());
        }
    }
    changed
}
