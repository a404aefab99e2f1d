//! `Counts`: the contents of slots: read consistently while their threads continue, folded when one
//! exits.
//!
//! # Invariants
//! 1. A slot is written by the thread that owns it, which folds it before another thread can own
//!    it. Reading and folding are serialised (`prog_slots`), so a reader finds a count either in
//!    its slot or in the folded counts, never in both or neither.
//! 2. `run_cnt` of a slot is never reset, because it determines which runs are timed. The folded
//!    part of it is in `folded_cnt`.
//!
//! The models compile this file too, with instrumented atomics.

use super::atomic::Ordering::{Acquire, Relaxed, Release};
use super::atomic::{AtomicU64, fence};
use super::{BUCKETS, StatsSlot, pause};

/// Sums of slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) runs: u64,
    pub(crate) ticks: u64,
    pub(crate) timed: u64,
    pub(crate) misses: u64,
    pub(crate) jumps: u64,
    pub(crate) buckets: [u64; BUCKETS],
    /// The part of `ticks` from runs in `buckets`.
    pub(crate) bucket_ticks: u64,
    /// The part of `timed` from runs that represent others too.
    pub(crate) estimated: u64,
}

impl Counts {
    pub(crate) const ZERO: Counts = Counts {
        runs: 0,
        ticks: 0,
        timed: 0,
        misses: 0,
        jumps: 0,
        buckets: [0; BUCKETS],
        bucket_ticks: 0,
        estimated: 0,
    };

    /// Adds what the owner of a slot has counted so far.
    pub(crate) fn add(&mut self, slot: &StatsSlot) {
        let mut turns = 0;
        let Counts { ticks, timed, buckets, bucket_ticks, estimated, .. } = loop {
            match whole(slot) {
                Some(found) => break found,
                None => pause(&mut turns),
            }
        };
        self.ticks = self.ticks.wrapping_add(ticks);
        self.bucket_ticks = self.bucket_ticks.wrapping_add(bucket_ticks);
        self.timed += timed;
        self.estimated += estimated;
        for (to, from) in self.buckets.iter_mut().zip(buckets) {
            *to = to.wrapping_add(from);
        }
        self.misses += slot.recursion_misses.load(Relaxed);
        self.jumps += slot.clock_jumps.load(Relaxed);
        // Last, so that no timed run is missing in it.
        self.runs += slot.run_cnt.load(Relaxed) - slot.folded_cnt.load(Relaxed);
    }

    /// Takes the counts of a slot whose owner is exiting; the next owner starts from 0.
    pub(crate) fn fold(&mut self, slot: &StatsSlot) {
        let (runs, folded) = (slot.run_cnt.load(Relaxed), slot.folded_cnt.load(Relaxed));
        let missed = slot.recursion_misses.load(Relaxed) > 0;
        // Everything else it counted belongs to a run that it began before.
        if runs == folded && !missed {
            return;
        }
        self.add(slot);
        slot.folded_cnt.store(runs, Relaxed);
        let words = [&slot.ticks, &slot.timed_cnt, &slot.recursion_misses, &slot.clock_jumps];
        let words = words.into_iter().chain([&slot.bucket_ticks, &slot.estimated_cnt]);
        words.chain(&slot.buckets.0).for_each(|word| word.store(0, Relaxed));
    }
}

/// The fields that change together, if consistent; otherwise 0.
fn whole(slot: &StatsSlot) -> Option<Counts> {
    let seq = slot.seq.load(Acquire);
    let ticks = slot.ticks.load(Relaxed);
    let timed = slot.timed_cnt.load(Relaxed);
    let buckets = std::array::from_fn(|i| slot.buckets.0[i].load(Relaxed));
    let bucket_ticks = slot.bucket_ticks.load(Relaxed);
    let estimated = slot.estimated_cnt.load(Relaxed);
    fence(Acquire);
    let is_whole = seq.is_multiple_of(2) && slot.seq.load(Relaxed) == seq;
    let counts = Counts { ticks, timed, buckets, bucket_ticks, estimated, ..Counts::ZERO };
    is_whole.then_some(counts)
}

/// A timed run of the slot's own thread has ended: the ticks that it counts for, its bucket, and
/// the number of runs it represents. No other thread writes the slot, so loads and stores suffice.
pub(crate) fn add_timed(slot: &StatsSlot, ticks: u64, bucket: Option<usize>, weight: u64) {
    let seq = slot.seq.load(Relaxed);
    slot.seq.store(seq.wrapping_add(1), Relaxed);
    fence(Release);
    let add = |word: &AtomicU64, by: u64| {
        word.store(word.load(Relaxed).wrapping_add(by), Relaxed);
    };
    add(&slot.ticks, ticks);
    add(&slot.timed_cnt, 1);
    if weight != 1 {
        add(&slot.estimated_cnt, 1);
    }
    if let Some(bucket) = bucket {
        add(&slot.buckets.0[bucket.min(BUCKETS - 1)], weight);
        add(&slot.bucket_ticks, ticks);
    }
    slot.seq.store(seq.wrapping_add(2), Release);
}

/// In a child of `fork`: the slot of a thread that does not exist in it, which may have been
/// writing. The time of that run may be included without the run.
pub(crate) fn settle(slot: &StatsSlot) {
    let seq = slot.seq.load(Relaxed);
    slot.seq.store(seq.next_multiple_of(2), Relaxed);
}
