//! Statistics of programs: how often each ran and how long that took.
//!
//! They are off until someone asks ([`Runtime::enable_stats`](crate::Runtime::enable_stats), the
//! kernel's `bpf_stats_enabled`, or [`Instance::enable_stats`](crate::Instance::enable_stats));
//! then every run is counted, and all of them or one in N are timed. What they count is kept when
//! they are off again.
//!
//! Reading order: [`ProgStats`] (what is known), `counters` (where each thread counts), `clock`
//! (what a tick is), `board` (who asked for what, and the sites that are switched for it).
//!
//! # Invariants
//! 1. `run_cnt` is the number of runs that began while the program's statistics were on, at any
//!    rate of sampling and whatever was switched meanwhile: slots are counters that only grow, and
//!    outlive the threads that they belong to. A thread that begins where one has ended goes on
//!    with its slots, so there is nothing to fold and no moment at which a run is nowhere.
//!
//! Deliberately absent: time of runs that were stopped (fuel, interruption): they are counted only.

mod board;
mod clock;
mod counters;

pub(crate) use board::Board;
pub use board::StatsGuard;
pub(crate) use clock::Clock;
pub use clock::ClockSource;
pub(crate) use counters::{Counters, Timed};
use std::num::NonZeroU32;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatsOptions {
    /// One in this many runs is timed; all are counted.
    pub sample: NonZeroU32,
    /// Whether the histogram of times is kept, too.
    pub histogram: bool,
}

impl Default for StatsOptions {
    /// Every run is timed, as in the kernel.
    fn default() -> StatsOptions {
        StatsOptions { sample: NonZeroU32::MIN, histogram: false }
    }
}

impl StatsOptions {
    /// One in `sample` runs is timed.
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

/// What is known of a program's runs, all threads together. Every number only grows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgStats {
    /// Time in the program, ns; an estimate if not all runs were timed. A program that tail calls
    /// another from its main function has ended then.
    pub run_time_ns: u64,
    /// Runs that began, as the host started them or another program tail called this one.
    pub run_cnt: u64,
    /// Runs that did not happen because the thread was in the same program already.
    pub recursion_misses: u64,
    /// Runs that were timed.
    pub timed_cnt: u64,
    /// Runs whose time is not known because the clock jumped.
    pub clock_jumps: u64,
    /// Bucket `i` has the runs that took at least 2^i ns (0 is in the first) and less than twice
    /// that; each timed run stands for as many as it does in `run_time_ns`. Zeros where no
    /// histogram was asked for.
    pub histogram: [u64; skep_jit::stats::BUCKETS],
}

impl Default for ProgStats {
    fn default() -> ProgStats {
        ProgStats {
            run_time_ns: 0,
            run_cnt: 0,
            recursion_misses: 0,
            timed_cnt: 0,
            clock_jumps: 0,
            histogram: [0; skep_jit::stats::BUCKETS],
        }
    }
}

impl ProgStats {
    /// Mean time of a run, ns.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.run_cnt > 0).then(|| self.run_time_ns as f64 / self.run_cnt as f64)
    }

    /// What has happened since `earlier`.
    pub fn since(&self, earlier: &ProgStats) -> ProgStats {
        ProgStats {
            run_time_ns: self.run_time_ns.saturating_sub(earlier.run_time_ns),
            run_cnt: self.run_cnt.saturating_sub(earlier.run_cnt),
            recursion_misses: self.recursion_misses.saturating_sub(earlier.recursion_misses),
            timed_cnt: self.timed_cnt.saturating_sub(earlier.timed_cnt),
            clock_jumps: self.clock_jumps.saturating_sub(earlier.clock_jumps),
            histogram: std::array::from_fn(|i| {
                self.histogram[i].saturating_sub(earlier.histogram[i])
            }),
        }
    }
}
