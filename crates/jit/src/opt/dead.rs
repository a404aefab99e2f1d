//! Dead code elimination. Loads from shared memory are kept.

use crate::asm::Width;
use crate::flow::Flow;
use crate::op::{Op, Src};

/// Recomputes liveness inside blocks.
pub(super) fn run(ops: &mut [Op], flow: &mut Flow) {
    flow.remove(ops, |op, live| match *op {
        Op::Nop => false,
        Op::Mov { width: Width::W64, dst, src } if src == Src::Reg(dst) => true,
        _ => !op.defs().meets(live) && op.is_pure(),
    })
}
