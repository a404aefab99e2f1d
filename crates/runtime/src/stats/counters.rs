//! `Counters`: the slots of one program, one for each thread that may run programs.
//!
//! # Invariants
//! 1. The slot of a thread has the thread's number in `epoch`; machine code finds it through the
//!    thread word, which `epoch` sets.

use super::estimate::Ended;
use super::prog_slots::ProgSlots;
use super::{Clock, ProgStats, StatsOptions};
use crate::Error;
use skep_jit::stats::{JUMP_BITS, StatsControl, StatsLink, StatsSlot};
use skep_mem::thread_word;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// The counters of one program's runs.
pub(crate) struct Counters {
    slots: ProgSlots,
    control: Box<StatsControl>,
    /// What interpreted runs ask.
    is_on: AtomicBool,
    clock: Clock,
}

/// An interpreted run being timed.
pub(crate) struct Timed {
    start: u64,
    weight: u64,
}

impl Counters {
    pub(crate) fn new(clock: Clock) -> Result<Counters, Error> {
        let slots = ProgSlots::new()?;
        Ok(Counters { slots, control: Box::default(), is_on: AtomicBool::new(false), clock })
    }

    /// The addresses that machine code needs; the `Counters` must outlive it.
    pub(crate) fn link(&self) -> StatsLink {
        StatsLink {
            slots: self.slots.address(),
            control: std::ptr::from_ref(&*self.control) as u64,
            thread_word: thread_word::offset(),
            clock: self.clock.address(),
            timed: self.clock.timed(),
        }
    }

    /// Sets what to measure in runs that begin from now on; the caller switches the sites.
    pub(super) fn set(&self, options: Option<StatsOptions>) {
        if let Some(options) = options {
            self.slots.open();
            self.control.since.store(self.clock.now(), Relaxed);
            self.control.rate.set(options.sample);
            self.control.has_histogram.store(options.histogram.into(), Relaxed);
        }
        self.is_on.store(options.is_some(), Relaxed);
    }

    /// What is known now.
    pub(crate) fn read(&self) -> ProgStats {
        let counts = self.slots.read();
        let ns = |ticks: u64| if ticks == 0 { Ok(0) } else { self.clock.ns(ticks) };
        let (time, histogram_time) = (ns(counts.ticks), ns(counts.bucket_ticks));
        ProgStats {
            run_time_ns: time.unwrap_or_default(),
            run_cnt: counts.runs,
            recursion_misses: counts.misses,
            timed_cnt: counts.timed,
            estimated_cnt: counts.estimated,
            clock_jumps: counts.jumps,
            is_uncalibrated: time.is_err(),
            histogram: counts.buckets,
            histogram_time_ns: histogram_time.unwrap_or_default(),
        }
    }

    fn slot(&self) -> Option<&StatsSlot> {
        self.slots.slot()
    }

    /// A run that is not machine code begins.
    pub(crate) fn begin(&self) -> Option<Timed> {
        if !self.is_on.load(Relaxed) {
            return None;
        }
        let slot = self.slot()?;
        let number = slot.run_cnt.load(Relaxed).wrapping_add(1);
        slot.run_cnt.store(number, Relaxed);
        let weight = self.control.rate.weight(number)?;
        Some(Timed { start: self.clock.now(), weight })
    }

    /// It ends, in the same thread.
    pub(crate) fn end(&self, timed: Option<Timed>) {
        let (Some(timed), Some(slot)) = (timed, self.slot()) else { return };
        let now = self.clock.now();
        let elapsed = now.wrapping_sub(timed.start);
        if elapsed >> JUMP_BITS != 0 {
            slot.clock_jumps.store(slot.clock_jumps.load(Relaxed) + 1, Relaxed);
            return;
        }
        let run = Ended { elapsed, weight: timed.weight, now };
        self.clock.add_timed(slot, &self.control, run);
    }

    /// A run does not happen.
    pub(crate) fn miss(&self) {
        self.slots.open();
        if let Some(slot) = self.slot() {
            slot.recursion_misses.store(slot.recursion_misses.load(Relaxed) + 1, Relaxed);
        }
    }
}
