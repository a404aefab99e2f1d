//! How machine code counts what it runs: where counters are, and what follows from them.
//!
//! Only a program that is compiled for it counts, and no other is touched by it. Each counter is
//! one `add` to a word of the run's own CPU, so that no two runs write the same; the first word's
//! address is in `rbp` where that is free, and else in a word of each frame.
//!
//! Passes that write ops in another place than they were, or take a jump away, are off then
//! (`Coverage::allowed`); all others are on.
//!
//! # Invariants
//! 1. Which insns are counted is known before the code is: [`Plan`] is made of the insns alone.

mod plan;
mod solve;

use crate::flow::Flow;
use crate::{Passes, Prologue, Tuning};
pub(crate) use plan::Place;
pub use plan::Plan;
pub use solve::Counts;
use std::sync::Arc;

/// Where the runs of a program are counted.
#[derive(Clone, Debug)]
pub struct Coverage {
    /// What is counted.
    pub plan: Arc<Plan>,
    /// The first of [`Plan::counters`] 64-bit words of CPU 0.
    pub address: u64,
    /// Bytes from there to those of the next CPU. Whose words a thread uses is its word at
    /// [`crate::thread_word::cpu_offset`].
    pub stride_bytes: u32,
}

impl Coverage {
    /// Those of the passes that leave counted edges where they are. Rounds of a loop that are
    /// written in a row are counted together, which takes [`Base::Register`].
    pub(crate) fn allowed(passes: Passes, base: Base) -> Passes {
        let unroll = passes.unroll && base == Base::Register;
        Passes { guards: false, latches: false, layout: false, unroll, ..passes }
    }
}

/// Where a function has the address of the first counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// The program counts nothing.
    Nowhere,
    /// `rbp`: it is neither the run's environment nor where a frame is found.
    Register,
    /// A word of its frame.
    Frame,
}

impl Base {
    pub(crate) fn new(coverage: Option<&Coverage>, (tuning, flow): (&Tuning, &Flow)) -> Base {
        let is_minimal = tuning.prologue == Prologue::Minimal;
        match coverage {
            None => Base::Nowhere,
            Some(_) if !tuning.fuel && flow.exception_cb.is_none() && is_minimal => Base::Register,
            Some(_) => Base::Frame,
        }
    }
}
