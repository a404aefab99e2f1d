//! `Local`: what a thread knows of its own slot and run.

use std::cell::Cell;

/// No slot: the thread has not requested one.
pub(super) const UNREGISTERED: u32 = u32::MAX;

/// The state of the calling thread.
pub(super) struct Local {
    pub(super) slot: Cell<u32>,
    pub(super) depth: Cell<u32>,
    /// No other thread ran programs when this run began.
    pub(super) began_alone: Cell<bool>,
    /// It is in a section that requires it to be alone.
    pub(super) lone: Cell<bool>,
    /// The newest code for which its instruction stream is synchronised, if barriers are denied.
    pub(super) generation: Cell<u64>,
}

thread_local! {
    pub(super) static LOCAL: Local = const {
        Local {
            slot: Cell::new(UNREGISTERED),
            depth: Cell::new(0),
            began_alone: Cell::new(false),
            lone: Cell::new(false),
            generation: Cell::new(0),
        }
    };
}

/// The number of the calling thread's slot, if it has one.
#[inline]
pub fn slot() -> Option<u32> {
    let slot = LOCAL.with(|local| local.slot.get());
    (slot != UNREGISTERED).then_some(slot)
}
