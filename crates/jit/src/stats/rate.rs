//! `Rate`: which runs are timed, and how many each of them stands for.
//!
//! # Invariants
//! 1. Both are one word: a run that is picked at a rate is weighed at it, whatever is asked for
//!    meanwhile. Machine code loads the word once, too.
//!
//! The models of `skep-runtime` compile this file too, with atomics that they watch.

use super::GOLDEN;
use super::atomic::AtomicU64;
use super::atomic::Ordering::Relaxed;
use std::num::NonZeroU32;

/// One in how many runs is timed: the weight in the upper half, and in the lower the threshold that
/// the scattered number of a run that is timed is not above.
#[repr(transparent)]
#[derive(Debug, Default)]
pub struct Rate(AtomicU64);

impl Rate {
    /// One in `sample` runs that begin from now on.
    pub fn set(&self, sample: NonZeroU32) {
        let threshold = (1u64 << 32) / u64::from(sample.get()) - 1;
        self.0.store(u64::from(sample.get()) << 32 | threshold, Relaxed);
    }

    /// How many runs the one with this number stands for, if it is to be timed.
    pub fn weight(&self, number: u64) -> Option<u64> {
        let word = self.0.load(Relaxed);
        ((number as u32).wrapping_mul(GOLDEN) <= word as u32).then_some(word >> 32)
    }
}
