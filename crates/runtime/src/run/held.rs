//! Resources that a run has acquired and not released yet: locks, ring buffer records, objects.
//!
//! Recorded by helpers. A run that completes holds nothing, as the verifier has checked; one that
//! is stopped, or in which a helper panicked, releases what is recorded (`helper::release_held`).
//!
//! # Invariants
//! 1. An entry is a lock or a reference as the verifier counts them: added when a helper has
//!    acquired it, removed when one releases it or transfers it elsewhere.

use super::call::Call;
use std::cell::RefCell;

/// How to release a resource: the helper, and its first argument.
pub(crate) type Release = fn(&Call) -> u64;

/// In order of acquisition.
#[derive(Default)]
pub(crate) struct Held(RefCell<Vec<(u64, Release)>>);

impl Held {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.0.get_mut().clear();
    }

    /// Takes all entries, which are then no longer held.
    pub(crate) fn take(&self) -> Vec<(u64, Release)> {
        self.0.take()
    }

    /// Notes what was acquired.
    pub(crate) fn add(&self, what: u64, release: Release) {
        self.0.borrow_mut().push((what, release));
    }

    /// Removes the most recently acquired entry that is `wanted`; returns whether there was one.
    pub(crate) fn strike_off(&self, wanted: impl Fn(u64) -> bool) -> bool {
        let mut held = self.0.borrow_mut();
        let at = held.iter().rposition(|(what, _)| wanted(*what));
        at.map(|at| held.remove(at)).is_some()
    }
}
