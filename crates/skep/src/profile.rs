//! `Profile`: where verification spends its insns and states, and why states were not pruned.
//!
//! # Invariants
//! 1. The insns of all costs sum up to [`Counts::insns_processed`](crate::Counts), their states to
//!    `total_states`.
//! 2. Memory is bounded: once call paths fill 128 MB, further ones are attributed to their function
//!    only.

mod call_path;
mod cost;
mod kept_apart;

pub use call_path::CallPath;
pub use cost::{Cost, CostAt};
pub use kept_apart::KeptApart;
pub use skep_verifier::trace::Apart;

use crate::verification::Counts;
use call_path::CallPaths;
use kept_apart::Reasons;
use skep_program::Program;
use skep_verifier::trace::{Event, Listener};

/// Maximum number of call-path insns recorded separately; each takes 16 bytes.
const CELLS_MAX: usize = 8 << 20;

/// Where a verification spends its insns and states.
#[derive(Debug, Clone)]
pub struct Profile {
    paths: CallPaths,
    reasons: Reasons,
    /// The current path.
    current: Option<u32>,
    /// What pending branches need.
    waiting: Vec<Option<u32>>,
    /// The insn processed last, or the one that branched.
    last: u32,
    /// Reported before the insn that it is about.
    pending: Cost,
    stopped_at: Option<(u32, u32)>,
}

impl Profile {
    pub(crate) fn new(program: &Program) -> Profile {
        Profile {
            paths: CallPaths::new(program, CELLS_MAX),
            reasons: Reasons::default(),
            current: None,
            waiting: Vec::new(),
            last: 0,
            pending: Cost::default(),
            stopped_at: None,
        }
    }

    /// The call paths; parents precede their children.
    pub fn paths(&self) -> &[CallPath] {
        self.paths.all()
    }

    /// The non-zero costs.
    pub fn costs(&self) -> impl Iterator<Item = CostAt> {
        self.paths.costs()
    }

    /// The sum of all costs.
    pub fn total(&self) -> Cost {
        let mut total = Cost::default();
        self.costs().for_each(|at| total += at.cost);
        total
    }

    /// Why states were not pruned, the most frequent first.
    pub fn kept_apart(&self) -> Vec<KeptApart> {
        self.reasons.sorted()
    }

    /// Verification is over. The kernel also counts an insn that ended it before it was processed.
    pub(crate) fn finish(&mut self, counts: &Counts) {
        let left = counts.insns_processed.saturating_sub(self.total().insns.into());
        if left > 0 {
            let (insn_idx, frame) = self.stopped_at.unwrap_or((self.last, 0));
            self.pending.insns += u32::try_from(left - 1).unwrap_or(u32::MAX);
            self.count(insn_idx, frame, Cost { insns: 1, ..Cost::default() });
        }
    }

    #[inline(always)] // Called for each insn.
    fn count(&mut self, insn_idx: u32, frame: u32, cost: Cost) {
        let path = self.paths.enter(self.current, self.last, (frame, insn_idx));
        self.current = Some(path);
        let sum = self.paths.at(path, insn_idx);
        *sum += cost;
        if self.pending != Cost::default() {
            *sum += std::mem::take(&mut self.pending);
        }
    }

    /// Consecutive insns.
    fn count_run(&mut self, first: u32, insns: u32, frame: u32) {
        self.count(first, frame, Cost { insns: 1, ..Cost::default() });
        if let Some(path) = self.current {
            self.paths.add_run(path, first + 1, insns - 1);
        }
        self.last = first + insns - 1;
    }

    #[inline(never)]
    fn tell_rare(&mut self, event: Event<'_>) {
        match event {
            Event::Function { .. } => {
                self.current = None;
                self.waiting.clear();
            }
            Event::Pruned { insn_idx, frame } => {
                self.count(insn_idx, frame, Cost { insns: 1, covered: 1, ..Cost::default() });
            }
            Event::KeptApart { insn_idx, why, times, values } => {
                self.pending.apart += times;
                self.reasons.add((insn_idx, why), times, &values);
            }
            Event::Precise { insn_idx, by, frame, regs, slots } => {
                // The current insn was reported already, or is reported only if the path continues.
                let is_direct = by == self.last;
                self.reasons.matter((insn_idx, frame, regs, slots), (by, is_direct));
            }
            Event::Refused { insn_idx, frame, .. } => self.stopped_at = Some((insn_idx, frame)),
            _ => {}
        }
    }
}

impl Listener for Profile {
    // What is told for most insns stands here; the rest would make each call slower.
    fn tell(&mut self, event: Event<'_>) {
        match event {
            Event::Insn { insn_idx, frame } => {
                self.count(insn_idx, frame, Cost { insns: 1, ..Cost::default() });
                self.last = insn_idx;
            }
            Event::Run { first, insns, frame } => self.count_run(first, insns, frame),
            Event::Waits { .. } => self.waiting.push(self.current),
            Event::GoesOn { from, .. } => {
                self.current = self.waiting.pop().flatten();
                self.last = from;
            }
            Event::Saved { .. } => self.pending.states += 1,
            rare => self.tell_rare(rare),
        }
    }

    fn wants_registers(&self) -> bool {
        false
    }
}
