//! Execution counts in machine code: the placement of counters, and the reconstruction of all
//! counts.
//!
//! Only programs compiled for it are counted; others are unaffected. Each counter is an `add` to a
//! word of the run's own CPU, so no two runs write the same word; the address of the first word is
//! in `rbp` if that is free, otherwise in a word of each frame. In the first case, functions count
//! in registers in their loops, as far as they have registers to spare (`opt::loop_counts`).
//!
//! Passes that move ops or remove jumps are off then (`Coverage::allowed`); all others are on.
//!
//! # Invariants
//! 1. The set of counted edges does not depend on the code: [`Plan`] is computed from the insns
//!    alone.

mod plan;
mod solve;

use crate::flow::Flow;
use crate::op::Reg;
use crate::{Passes, Prologue, Tuning};
pub(crate) use plan::Place;
pub use plan::Plan;
pub use solve::Counts;
use std::sync::Arc;

/// The counters of a program.
#[derive(Clone, Debug)]
pub struct Coverage {
    /// What is counted.
    pub plan: Arc<Plan>,
    /// The first of [`Plan::counters`] 64-bit words of CPU 0.
    pub address: u64,
    /// Distance to the words of the next CPU, in bytes. A thread selects its CPU's words with its
    /// word at `skep_mem::thread_word::cpu_offset`.
    pub stride_bytes: u32,
    /// Where each thread keeps the number of the CPU whose words it uses: this far from its thread
    /// pointer (`fs`).
    pub cpu_word: i32,
}

impl Coverage {
    /// The passes that keep counted edges in place. Unrolled iterations of a loop are counted
    /// together, which requires [`Base::Register`].
    pub(crate) fn allowed(passes: Passes, base: Base) -> Passes {
        let unroll = passes.unroll && base == Base::Register;
        Passes { guards: false, latches: false, layout: false, unroll, ..passes }
    }
}

/// A counter that a function keeps in a register while it runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub(crate) counter: u32,
    pub(crate) reg: Reg,
}

/// Where a function keeps the address of the first counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// The program counts nothing.
    Nowhere,
    /// `rbp`, which is used neither for the run's environment nor for finding a frame.
    Register,
    /// A word of its frame.
    Frame,
}

impl Base {
    pub(crate) fn new(coverage: Option<&Coverage>, tuning: &Tuning, flow: &Flow) -> Base {
        let is_minimal = tuning.prologue == Prologue::Minimal;
        match coverage {
            None => Base::Nowhere,
            Some(_) if !tuning.fuel && flow.exception_cb.is_none() && is_minimal => Base::Register,
            Some(_) => Base::Frame,
        }
    }
}
