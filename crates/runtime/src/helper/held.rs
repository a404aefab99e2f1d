//! What a run has acquired and not given back yet: locks, records of ring buffers, objects.
//!
//! Helpers note it. A run that comes to its end holds nothing, as the verifier has seen; one that
//! is stopped, or in which a helper of ours panicked, gives back what is noted
//! ([`super::release_held`]).
//!
//! # Invariants
//! 1. An entry is a lock or a reference as the verifier counts them: noted when a helper has
//!    acquired it, struck off when one releases it or puts it elsewhere.

use super::Call;
use crate::current;
use std::cell::RefCell;
use std::ops::Range;

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
    pub(super) fn take(&self) -> Vec<(u64, Release)> {
        self.0.take()
    }

    /// Strikes off what was acquired last of those that are `wanted`: whether there was one.
    fn strike_off(&self, wanted: impl Fn(u64) -> bool) -> bool {
        let mut held = self.0.borrow_mut();
        let at = held.iter().rposition(|(what, _)| wanted(*what));
        at.map(|at| held.remove(at)).is_some()
    }
}

/// The run has acquired `what`.
pub(super) fn hold(what: u64, release: Release) {
    current::with(|current| {
        current.ctx.effects.listed.set(true);
        current.ctx.effects.held.0.borrow_mut().push((what, release));
    });
}

/// The run has given `what` back: whether it had it.
pub(super) fn let_go(what: u64) -> bool {
    let it = |other| other == what;
    current::with(|current| current.ctx.effects.held.strike_off(it)).unwrap_or(false)
}

/// The run has given back what is at one of these addresses.
pub(super) fn let_go_within(addrs: Range<u64>) {
    let within = |other| addrs.contains(&other);
    current::with(|current| current.ctx.effects.held.strike_off(within));
}
