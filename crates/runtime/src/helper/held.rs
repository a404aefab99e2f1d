//! How helpers record what the run acquires and releases; see [`crate::run::Held`].

use crate::current;
use crate::run::Release;
use std::ops::Range;

/// The run has acquired `what`.
pub(super) fn hold(what: u64, release: Release) {
    current::with(|current| {
        current.ctx.effects.listed.set(true);
        current.ctx.effects.held.add(what, release);
    });
}

/// The run has released `what`: returns whether it held it.
pub(super) fn let_go(what: u64) -> bool {
    let it = |other| other == what;
    current::with(|current| current.ctx.effects.held.strike_off(it)).unwrap_or(false)
}

/// The run has released the resource at one of these addresses.
pub(super) fn let_go_within(addrs: Range<u64>) {
    let within = |other| addrs.contains(&other);
    current::with(|current| current.ctx.effects.held.strike_off(within));
}
