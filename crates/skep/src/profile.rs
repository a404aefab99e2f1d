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
use call_path::{CallPaths, NO_PATH};
use kept_apart::{NeededBy, Places, Reasons};
use skep_program::Program;
use skep_verifier::trace::{Event, Listener};

/// Maximum number of call-path insns recorded separately; each takes 16 bytes.
const CELLS_MAX: usize = 8 << 20;

/// Where a verification spends its insns and states.
#[derive(Debug, Clone)]
pub struct Profile {
    paths: CallPaths,
    reasons: Reasons,
    /// The current path; `NO_PATH` if there is none yet.
    current: u32,
    /// What pending branches need.
    waiting: Vec<u32>,
    /// The insn processed last, or the one that branched.
    last: u32,
    /// The cost of the next insn: itself, and what was reported before it.
    pending: Cost,
    stopped_at: Option<(u32, u32)>,
}

impl Profile {
    pub(crate) fn new(program: &Program) -> Profile {
        Profile {
            paths: CallPaths::new(program, CELLS_MAX),
            reasons: Reasons::default(),
            current: NO_PATH,
            waiting: Vec::new(),
            last: 0,
            pending: Cost::WALKED,
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
            self.pending.insns = u32::try_from(left).unwrap_or(u32::MAX);
            self.count(insn_idx, frame);
        }
    }

    #[inline(always)] // Called for each insn.
    fn count(&mut self, insn_idx: u32, frame: u32) {
        match self.paths.cost(self.current, frame, insn_idx) {
            Some(cost) => *cost += self.pending,
            None => self.enter(insn_idx, frame),
        }
        self.pending = Cost::WALKED;
    }

    /// Counts an insn that is not on the current path, or the first one on it.
    #[cold]
    fn enter(&mut self, insn_idx: u32, frame: u32) {
        self.current = self.paths.enter(self.current, self.last, frame, insn_idx);
        if let Some(cost) = self.paths.cost(self.current, frame, insn_idx) {
            *cost += self.pending;
        }
    }

    /// Consecutive insns.
    fn count_run(&mut self, first: u32, insns: u32, frame: u32) {
        self.count(first, frame);
        if insns > 1 {
            self.paths.add_run(self.current, first + 1, insns - 1);
        }
        self.last = first + insns - 1;
    }

    #[inline(never)]
    fn tell_rare(&mut self, event: Event<'_>) {
        match event {
            Event::Function { .. } => {
                self.current = NO_PATH;
                self.waiting.clear();
            }
            Event::KeptApart { insn_idx, why, times, values } => {
                self.pending.apart += times;
                self.reasons.add(insn_idx, why, times, &values);
            }
            Event::Precise { insn_idx, by, frame, regs, slots } => {
                // The current insn was reported already, or is reported only if the path continues.
                let needed_by = match by == self.last {
                    true => NeededBy::Insn(by),
                    false => NeededBy::StateBefore(by),
                };
                self.reasons.matter(Places { insn_idx, frame, regs, slots }, needed_by);
            }
            Event::Refused { insn_idx, frame, .. } => self.stopped_at = Some((insn_idx, frame)),
            _ => {}
        }
    }
}

impl Listener for Profile {
    // Only the events of most insns are handled here; the others would slow down each call.
    fn tell(&mut self, event: Event<'_>) {
        match event {
            Event::Insn { insn_idx, frame } => {
                self.count(insn_idx, frame);
                self.last = insn_idx;
            }
            Event::Pruned { insn_idx, frame } => {
                self.pending.covered = 1;
                self.count(insn_idx, frame);
            }
            Event::Run { first, insns, frame } => self.count_run(first, insns, frame),
            Event::Waits { .. } => self.waiting.push(self.current),
            Event::GoesOn { from, .. } => {
                self.current = self.waiting.pop().unwrap_or(NO_PATH);
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
