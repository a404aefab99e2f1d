//! `StatsSlot`: what one thread counts of one program.
//!
//! The models of `skep-runtime` compile this file too, with atomics that they watch: it takes all
//! that it needs from the module around it.

use super::BUCKETS;
use super::atomic::{AtomicU32, AtomicU64};

/// What one thread counts of one program; pairs of cache lines that no other thread writes.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct StatsSlot {
    /// Runs that began. It only grows, whoever has the slot: which of them are timed depends on it.
    pub run_cnt: AtomicU64,
    /// Time of the runs that were timed, with that of the runs that they stand for.
    pub ticks: AtomicU64,
    /// Runs that were timed and have ended.
    pub timed_cnt: AtomicU64,
    /// Runs that did not happen because the thread was in the program already.
    pub recursion_misses: AtomicU64,
    /// Runs whose time is not known because the clock jumped.
    pub clock_jumps: AtomicU64,
    /// Odd while a time is written.
    pub seq: AtomicU32,
    /// Of `ticks`, those of runs that are in `buckets`; machine code knows nothing of it.
    pub bucket_ticks: AtomicU64,
    /// How many of `run_cnt` threads began that had the slot before; machine code knows nothing of
    /// it.
    pub folded_cnt: AtomicU64,
    /// Of `timed_cnt`, those that stand for other runs too: `ticks` is an estimate.
    pub estimated_cnt: AtomicU64,
    /// The longest time that a run which is not timed is taken to have; 0 if none is known.
    pub limit: AtomicU64,
    /// Until when the thread's time is given to runs.
    pub covered: AtomicU64,
    /// Runs that took at least 2^i ns and less than twice that, in the way of `ticks`.
    pub buckets: Buckets,
}

/// The histogram, on lines of its own.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct Buckets(pub [AtomicU64; BUCKETS]);

impl Default for Buckets {
    fn default() -> Buckets {
        Buckets(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}
