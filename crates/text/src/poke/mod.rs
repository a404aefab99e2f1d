//! Modifies running code: turns switches and retargets jumps, many at once.
//!
//! Sites come from the compiler ([`skep_jit::SwitchSite`], [`skep_jit::RetargetSite`]); a [`Batch`]
//! changes them. `docs/live-patching.md` argues why every thread runs either the old or the new
//! code.
//!
//! # Invariants
//! 1. A site is written by a batch, under one lock, by one atomic store; old and new value are both
//!    correct at any time, in any combination with other sites.
//! 2. When [`Batch::commit`] has returned, no thread runs, or has fetched, the old code.
//! 3. Memory that a site referred to is not reused before both that and all runs in progress at
//!    that time have ended (`epoch`).
//!
//! Deliberately absent: a signal handler, breakpoint insns, any write of part of an insn.

mod batch;
mod direct;

pub use crate::edit::{EDITS_MAX, EditError};
pub use crate::text::{Jump, Switch, Target};
pub use batch::{Batch, Error};
pub use direct::DirectCalls;
pub use skep_jit::PokeMode;

use crate::edit::Edits;
use crate::machine_code::MachineCode;
use crate::memory::patching_is_refused;
use crate::text::{TailCall, TextLock};
use skep_mem::barrier::synchronise;
use std::sync::atomic::{AtomicBool, Ordering};

/// How sites are implemented on this host.
pub fn mode() -> PokeMode {
    match patching_is_refused() {
        None => PokeMode::Patch,
        Some(_) => PokeMode::Flag,
    }
}

/// Why code is not patched on this host, for display to the user. Only the first caller gets it.
pub fn take_notice() -> Option<String> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    let (call, errno) = patching_is_refused()?;
    let first = !TAKEN.swap(true, Ordering::AcqRel);
    first.then(|| {
        format!("the host denies {call} ({errno}); testing flags instead of patching code")
    })
}
