//! `Rate`: which runs are timed, and how many runs each of them represents.
//!
//! # Invariants
//! 1. Both are one word, so a run is weighted by the rate at which it was picked, whatever is set
//!    in the meantime. Machine code loads the word once, too.
//!
//! The models of `skep-runtime` compile this file too, with instrumented atomics.

use super::atomic::AtomicU64;
use super::atomic::Ordering::Relaxed;
use std::num::NonZeroU32;

/// 2^32 divided by the golden ratio, odd.
pub const GOLDEN: u32 = 0x9e37_79b9;

/// The sampling rate: the weight in the upper half, and in the lower half the threshold that the
/// hashed number of a timed run must not exceed.
#[repr(transparent)]
#[derive(Debug, Default)]
pub struct Rate(AtomicU64);

impl Rate {
    /// Times one in `sample` runs that begin from now on.
    pub fn set(&self, sample: NonZeroU32) {
        let threshold = (1u64 << 32) / u64::from(sample.get()) - 1;
        self.0.store(u64::from(sample.get()) << 32 | threshold, Relaxed);
    }

    /// How many runs the one with this number represents, if it is to be timed.
    pub fn weight(&self, number: u64) -> Option<u64> {
        let word = self.0.load(Relaxed);
        ((number as u32).wrapping_mul(GOLDEN) <= word as u32).then_some(word >> 32)
    }
}
