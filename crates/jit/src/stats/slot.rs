//! `StatsSlot`: the counters of one program in one thread.
//!
//! The models of `skep-runtime` compile this file too, with instrumented atomics; everything it
//! needs comes from the surrounding module.

use super::BUCKETS;
use super::atomic::{AtomicU32, AtomicU64};

/// The counters of one program in one thread; pairs of cache lines that no other thread writes.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct StatsSlot {
    /// Runs that began. Never reset when the owner changes, because it determines which runs are
    /// timed.
    pub run_cnt: AtomicU64,
    /// Time of the timed runs, including that of the runs they represent.
    pub ticks: AtomicU64,
    /// Timed runs that have ended.
    pub timed_cnt: AtomicU64,
    /// Runs skipped because the thread was already in the program.
    pub recursion_misses: AtomicU64,
    /// Runs whose time is unknown because the clock jumped.
    pub clock_jumps: AtomicU64,
    /// Odd while a time is being written.
    pub seq: AtomicU32,
    /// The part of `ticks` from runs in `buckets`; not used by machine code.
    pub bucket_ticks: AtomicU64,
    /// The part of `run_cnt` from previous owners of the slot; not used by machine code.
    pub folded_cnt: AtomicU64,
    /// The part of `timed_cnt` from runs that represent others too: `ticks` is an estimate.
    pub estimated_cnt: AtomicU64,
    /// The maximum time assumed for a run that is not timed; 0 if unknown.
    pub limit: AtomicU64,
    /// The end of the time already assigned to runs of the thread.
    pub covered: AtomicU64,
    /// Runs that took at least 2^i ns and less than twice that, weighted like `ticks`.
    pub buckets: Buckets,
}

/// The histogram, on cache lines of its own.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct Buckets(pub [AtomicU64; BUCKETS]);

impl Default for Buckets {
    fn default() -> Buckets {
        Buckets(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}
