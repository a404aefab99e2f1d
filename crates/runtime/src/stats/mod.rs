//! Program statistics: how often each program ran, and for how long.
//!
//! Statistics are off until requested ([`Runtime::enable_stats`](crate::Runtime::enable_stats), the
//! kernel's `bpf_stats_enabled`, or [`Instance::enable_stats`](crate::Instance::enable_stats));
//! then every run is counted, and every run or one in N is timed. Counts are kept when statistics
//! are switched off again.
//!
//! Reading order: [`ProgStats`] (the result), `counters` (the counters of one program), `counts`
//! (reading and folding slots), `estimate` (the time represented by a timed run), `slot_registry`
//! (the slots of all programs), `prog_slots` (the slots of one program, and the registry's lock),
//! `clock` (the length of a tick), `requests` (the requests, and the sites switched for them).
//!
//! # Invariants
//! 1. `run_cnt` is the number of runs that began while the program's statistics were on, at any
//!    sampling rate and whatever was switched in the meantime: a thread counts in its own slot,
//!    which is folded when it exits, and no count is ever in both places or in neither.
//! 2. Each ns belongs to some program: a program that tail calls another from its main function
//!    ends before the target begins. Only the target of a tail call from a function is timed twice,
//!    as its own time and as the caller's, which continues afterwards.
//!
//! Kernel: a run is counted and timed around the whole program (`bpf_prog_run`, 6.18), so its time
//! includes that of its tail calls, and the targets are not counted. The sum over a chain from a
//! main function is the kernel's number.

mod clock;
mod counters;
mod counts;
mod estimate;
mod prog_slots;
mod prog_stats;
mod requests;
mod slot_registry;

pub(crate) use clock::Clock;
pub use clock::{ClockError, ClockSource, HostClock};
pub(crate) use counters::{Counters, Timed};
pub(crate) use prog_slots::gate;
pub use prog_stats::ProgStats;
pub use requests::StatsGuard;
pub(crate) use requests::{Counted, StatsRequests};
use skep_jit::stats::{BUCKETS, StatsSlot};
use std::num::NonZeroU32;
use std::sync::atomic;

/// Waits before reading a slot again: its thread writes for a few ns, unless it was preempted.
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

    /// Options that satisfy both requests.
    fn merged(self, other: StatsOptions) -> StatsOptions {
        StatsOptions {
            sample: self.sample.min(other.sample),
            histogram: self.histogram || other.histogram,
        }
    }
}
