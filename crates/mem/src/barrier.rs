//! Barriers on all threads of the process (`membarrier`), and whether the host lets us have them.
//!
//! A thread that runs programs announces it with a plain store; the threads that need to know pay
//! for a barrier ([`crate::epoch`]). Code that is changed or replaced needs more: every thread has
//! to serialise its instruction stream ([`synchronise`]).

use crate::answer::Answer;
use rustix::io::Errno;
use rustix::thread::{MembarrierCommand, membarrier};

/// Why [`synchronise`] fails on this host, if it does. Checked once, which also registers the
/// process for it.
pub fn synchronising_is_refused() -> Option<Errno> {
    static ANSWER: Answer = Answer::unknown();
    ANSWER.get(|| register().and_then(|()| synchronise()).err())
}

/// Registers the process for [`synchronise`].
fn register() -> Result<(), Errno> {
    membarrier(MembarrierCommand::RegisterPrivateExpeditedSyncCore)
}

/// Registers a child of `fork`, as its parent did: inheritance is not documented.
///
/// # Errors
///
/// The host refuses what it allowed the parent.
pub fn register_child() -> Result<(), Errno> {
    let registered = register();
    if synchronising_is_refused().is_none() { registered } else { Ok(()) }
}

/// Returns once all threads of the process have serialised their instruction streams.
///
/// # Errors
///
/// The host refuses.
pub fn synchronise() -> Result<(), Errno> {
    membarrier(MembarrierCommand::PrivateExpeditedSyncCore)
}
