//! Program statistics: how often each program ran, and for how long.
//!
//! They are off until someone asks ([`Runtime::enable_stats`](crate::Runtime::enable_stats), the
//! kernel's `bpf_stats_enabled`, or [`Instance::enable_stats`](crate::Instance::enable_stats));
//! then every run is counted, and every run or one in N is timed. Counts are kept when statistics
//! are switched off again.
//!
//! Reading order: [`ProgStats`] (what is known), `counters` (how one program counts), `counts`
//! (slots: read, folded), `estimate` (what a timed run stands for), `accounts` (of all programs),
//! `ledger` (who reads and folds in turn), `clock` (what a tick is), `board` (who asked for what,
//! and the sites that are switched for it).
//!
//! # Invariants
//! 1. `run_cnt` is the number of runs that began while the program's statistics were on, at any
//!    rate of sampling and whatever was switched meanwhile: a thread counts in its own slot, which
//!    is folded when it ends, and no count is ever in both places or in neither.
//! 2. Each ns is some program's: a program that tail calls another from its main function ends
//!    before the target begins. Only what a function tail called is timed twice, as the target's
//!    and as the caller's, which goes on after it.
//!
//! Kernel: a run is counted and timed around the whole program (`bpf_prog_run`, 6.18), so that what
//! it tail calls is its own time, and the targets are not counted. The sum over a chain from a main
//! function is the kernel's number.

mod accounts;
mod board;
mod clock;
mod counters;
mod counts;
mod estimate;
mod ledger;
mod prog_stats;

pub use board::StatsGuard;
pub(crate) use board::{Board, Counted};
pub(crate) use clock::Clock;
pub use clock::{ClockError, ClockSource, HostClock};
pub(crate) use counters::{Counters, Timed};
pub(crate) use ledger::gate;
pub use prog_stats::ProgStats;
use skep_jit::stats::{BUCKETS, StatsSlot};
use std::num::NonZeroU32;
use std::sync::atomic;

/// Before who reads a slot looks again: its thread writes for a few ns, unless it is not running.
fn pause(turns: &mut u32) {
    *turns += 1;
    if turns.is_multiple_of(64) { std::thread::yield_now() } else { std::hint::spin_loop() }
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatsOptions {
    /// Time one run in this many; all are counted.
    pub sample: NonZeroU32,
    /// Also keep a histogram of times.
    pub histogram: bool,
}

impl Default for StatsOptions {
    /// Every run is timed, as in the kernel.
    fn default() -> StatsOptions {
        StatsOptions { sample: NonZeroU32::MIN, histogram: false }
    }
}

impl StatsOptions {
    /// Time one run in `sample`.
    pub fn sampled(sample: NonZeroU32) -> StatsOptions {
        StatsOptions { sample, ..StatsOptions::default() }
    }

    /// What serves both.
    fn merged(self, other: StatsOptions) -> StatsOptions {
        StatsOptions {
            sample: self.sample.min(other.sample),
            histogram: self.histogram || other.histogram,
        }
    }
}
