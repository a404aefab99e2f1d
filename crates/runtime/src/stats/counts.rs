//! `Counts`: what slots have counted: read whole while their threads go on, folded when one ends.
//!
//! # Invariants
//! 1. A slot is written by the thread that owns it, and folded by it before it is another's. Who
//!    reads and who folds do so in turn (`ledger`), so a reader finds a count either in its slot or
//!    among what was folded, never in both and never in neither.
//! 2. `run_cnt` of a slot is never set back: which runs are timed depends on it. What was folded of
//!    it is in `folded_cnt`.
//!
//! The models compile this file too, with atomics that they watch.

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
    /// Those of `ticks` that are of runs in `buckets`.
    pub(crate) bucket_ticks: u64,
    /// Those of `timed` that stand for others too.
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

    /// Takes what the owner of a slot, who has ended, has counted; the next one starts from 0.
    pub(crate) fn fold(&mut self, slot: &StatsSlot) {
        let (runs, folded) = (slot.run_cnt.load(Relaxed), slot.folded_cnt.load(Relaxed));
        let missed = slot.recursion_misses.load(Relaxed) > 0;
        // Whatever else it counted, it began a run before.
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

/// What changes together, if it is not changing now; the rest is 0.
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

/// A timed run of the slot's own thread has ended: the ticks that it counts for, the bucket that it
/// belongs in, and how many runs it stands for. Nobody else writes the slot: loads and stores are
/// enough.
pub(crate) fn add_timed(slot: &StatsSlot, (ticks, bucket): (u64, Option<usize>), weight: u64) {
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

/// In a child of `fork`: the slot of a thread that did not come along, which may have been writing.
/// The time of that run may be there without the run.
pub(crate) fn settle(slot: &StatsSlot) {
    let seq = slot.seq.load(Relaxed);
    slot.seq.store(seq.next_multiple_of(2), Relaxed);
}
