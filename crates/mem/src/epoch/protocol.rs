//! `Epochs` and `Slot`: the protocol, independent of threads.
//!
//! The models compile this file too, with instrumented atomics.

use super::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use super::atomic::{AtomicBool, AtomicU64};
use super::barriers::{heavy_barrier, light_barrier};

/// The value of a slot whose thread is in no run.
pub(crate) const IDLE: u64 = 0;

/// The state of a thread.
#[repr(align(128))]
pub(crate) struct Slot {
    pub(crate) epoch: AtomicU64,
    pub(crate) taken: AtomicBool,
    /// Its thread is in a section for threads that are alone.
    pub(crate) lone: AtomicBool,
}

impl Slot {
    /// Its thread enters a run.
    #[inline]
    pub(crate) fn enter(&self, epochs: &Epochs) {
        self.epoch.store(epochs.global.load(Acquire), Relaxed);
        light_barrier();
    }

    /// Its thread leaves the run.
    #[inline]
    pub(crate) fn leave(&self) {
        self.epoch.store(IDLE, Release);
    }

    /// Its thread begins a section for which it must be alone; false if it is not, according to
    /// `crowded`.
    #[inline(always)]
    pub(crate) fn begin_lone(&self, crowded: &AtomicBool) -> bool {
        self.lone.store(true, Relaxed);
        light_barrier();
        if crowded.load(Acquire) {
            self.end_lone();
            return false;
        }
        true
    }

    /// Its thread ends the section.
    #[inline(always)]
    pub(crate) fn end_lone(&self) {
        self.lone.store(false, Release);
    }

    /// Takes the slot for the calling thread; false if it is already taken.
    pub(crate) fn take(&self) -> bool {
        self.taken.compare_exchange(false, true, AcqRel, Relaxed).is_ok()
    }

    /// Its thread no longer needs it.
    pub(crate) fn give_back(&self) {
        self.epoch.store(IDLE, Release);
        self.taken.store(false, Release);
    }
}

/// Announces a second thread, and waits (by calling `turn`) for the end of the section that another
/// thread may be in: no thread is alone after that. False if the host denies barriers.
pub(crate) fn crowd(crowded: &AtomicBool, slots: &[Slot], turn: impl Fn()) -> bool {
    crowded.store(true, SeqCst);
    if !heavy_barrier() {
        return false;
    }
    // Sections that begin from here on see `crowded`, and fail.
    while slots.iter().any(|slot| slot.lone.load(Acquire)) {
        turn();
    }
    true
}

pub(crate) struct Epochs {
    pub(crate) global: AtomicU64,
    /// Every run has an epoch above it; memory tagged with less than it minus one is free.
    pub(crate) oldest: AtomicU64,
}

impl Epochs {
    /// The tag for memory unlinked now.
    pub(crate) fn tag(&self) -> u64 {
        self.global.load(Acquire)
    }

    /// Whether memory with this tag may be reused, as far as is known.
    pub(crate) fn is_free(&self, tag: u64) -> bool {
        tag + 1 < self.oldest.load(Acquire)
    }

    /// Checks which runs are in progress; one thread at a time. If barriers are denied, nothing
    /// changes.
    pub(crate) fn look<'a>(&self, slots: impl FnOnce() -> &'a [Slot]) {
        // Two epochs with a barrier after each: invariant 2 of the module above.
        for _ in 0..2 {
            self.global.fetch_add(1, AcqRel);
            if !heavy_barrier() {
                return;
            }
        }
        let now = self.global.load(Acquire);
        let epochs = slots().iter().map(|slot| slot.epoch.load(Acquire));
        let oldest = epochs.filter(|&epoch| epoch != IDLE).min().unwrap_or(now);
        self.oldest.fetch_max(oldest, AcqRel);
    }
}
