//! The passes over ops, each a file with a switch of its name in [`crate::Passes`].
//!
//! # Invariants
//! 1. A pass changes ops inside one function, and never the meaning of what a jump finds at its
//!    target.
//! 2. `Flow::live_out` is right when a pass starts; `run` computes it anew after each that changed
//!    something.

mod dead;

use crate::flow::Flow;
use crate::op::Op;
use crate::{Linkage, Tuning};

/// Runs the passes that are switched on.
pub(crate) fn run(ops: &mut [Op], flow: &mut Flow, (_linkage, tuning): (&Linkage, &Tuning)) {
    let passes = tuning.passes;
    if passes.dead && dead::run(ops, flow) {
        flow.find_live(ops);
    }
}
