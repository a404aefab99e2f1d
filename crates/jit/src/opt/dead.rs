//! Dead code elimination. Loads from shared memory are kept.

use crate::asm::Width;
use crate::flow::Flow;
use crate::op::{Op, Src};
use crate::ops::Ops;

/// Recomputes liveness inside blocks.
pub(super) fn run(ops: &mut Ops, flow: &mut Flow) {
    flow.remove(ops, |op, defs, live| match *op {
        Op::Nop => false,
        Op::Mov { width: Width::W64, dst, src } if src == Src::Reg(dst) => true,
        _ => !defs.meets(live) && op.is_pure(),
    })
}
