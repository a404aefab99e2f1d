//! What a run has acquired and not given back yet: locks, records of ring buffers, objects.
//!
//! Helpers note it. A run that comes to its end holds nothing, as the verifier has seen; one that
//! is stopped, or in which a helper of ours panicked, gives back what is noted
//! (`helper::release_held`).
//!
//! # Invariants
//! 1. An entry is a lock or a reference as the verifier counts them: noted when a helper has
//!    acquired it, struck off when one releases it or puts it elsewhere.

use super::call::Call;
use std::cell::RefCell;

/// What gives something back: the helper, whose first argument it is.
pub(crate) type Release = fn(&Call) -> u64;

/// In the order in which it was acquired.
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

    /// Everything, which is then not held any more.
    pub(crate) fn take(&self) -> Vec<(u64, Release)> {
        self.0.take()
    }

    /// Notes what was acquired.
    pub(crate) fn add(&self, what: u64, release: Release) {
        self.0.borrow_mut().push((what, release));
    }

    /// Strikes off what was acquired last of those that are `wanted`: whether there was one.
    pub(crate) fn strike_off(&self, wanted: impl Fn(u64) -> bool) -> bool {
        let mut held = self.0.borrow_mut();
        let at = held.iter().rposition(|(what, _)| wanted(*what));
        at.map(|at| held.remove(at)).is_some()
    }
}
