//! `Env`: fuel and interruption of a run.

#![allow(unsafe_code)]

use crate::Error;
use skep_jit::RunEnv;
use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// What machine code with fuel shares with its run; part of the context, since a context is in one
/// run at a time.
#[derive(Default)]
pub(crate) struct Env(Arc<EnvCell>);

#[derive(Default)]
struct EnvCell(UnsafeCell<RunEnv>);

// SAFETY: other threads only access `interrupt`, as an atomic word.
unsafe impl Send for EnvCell {}
// SAFETY: as above.
unsafe impl Sync for EnvCell {}

impl EnvCell {
    fn interrupt(&self) -> &AtomicU32 {
        // SAFETY: a word of a live struct, aligned; machine code reads it with plain loads.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.0.get()).interrupt) }
    }
}

impl Env {
    /// The address for a new run; null without fuel.
    #[inline]
    pub(crate) fn prepare(&self, fuel: Option<u64>) -> *mut RunEnv {
        let Some(fuel) = fuel else { return std::ptr::null_mut() };
        let env = self.0.0.get();
        // SAFETY: the context that contains this is in no other run.
        unsafe {
            (*env).fuel = i64::try_from(fuel).unwrap_or(i64::MAX);
            (*env).stopped = 0;
            (*env).record = 0;
        }
        env
    }

    /// Whether the run completed.
    pub(crate) fn outcome(&self) -> Result<(), Error> {
        // SAFETY: the run has ended; no one else writes these fields.
        let (stopped, fuel) = unsafe { ((*self.0.0.get()).stopped, (*self.0.0.get()).fuel) };
        if stopped == 0 {
            return Ok(());
        }
        if fuel < 0 {
            return Err(Error::stopped("out of fuel"));
        }
        self.take_interrupt();
        Err(Error::stopped("interrupted"))
    }

    /// Units of fuel used by a run that was given this many.
    pub(crate) fn used(&self, given: u64) -> u64 {
        // SAFETY: as above.
        let left = unsafe { (*self.0.0.get()).fuel };
        given.min(i64::MAX as u64).saturating_sub(left.unsigned_abs())
    }

    /// Whether the run must stop; if so, it is marked as stopped.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.0.interrupt().load(Relaxed) != 0 && self.take_interrupt()
    }

    fn take_interrupt(&self) -> bool {
        self.0.interrupt().swap(0, Relaxed) != 0
    }

    pub(crate) fn interrupter(&self) -> Interrupter {
        Interrupter(self.0.clone())
    }
}

/// Stops runs with one context, from any thread.
#[derive(Clone)]
pub struct Interrupter(Arc<EnvCell>);

impl Interrupter {
    /// Stops the current run, or the next one, at its next unit of fuel
    /// ([`crate::LoadOptions::fuel`]). Compiled programs stop only if they have fuel, but
    /// [`crate::Instance::test_run`] ends between two runs of any.
    pub fn interrupt(&self) {
        self.0.interrupt().store(1, Relaxed);
    }
}

impl std::fmt::Debug for Interrupter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Interrupter")
    }
}

/// Consumes one unit of fuel, and checks for interruption: a callback may be called often without
/// jumping. Returns whether the run may continue; if not, it is stopped when the helper returns.
///
/// # Safety
///
/// `env` belongs to the calling run, or is null.
pub(crate) unsafe fn spend(env: *mut RunEnv) -> bool {
    if env.is_null() {
        return true;
    }
    // SAFETY: guaranteed by the caller; other threads only access `interrupt`, as an atomic word.
    unsafe {
        (*env).fuel -= 1;
        let interrupted = AtomicU32::from_ptr(&raw mut (*env).interrupt).load(Relaxed) != 0;
        if (*env).fuel < 0 || interrupted {
            (*env).stopped = 1;
        }
        (*env).stopped == 0
    }
}

/// Marks the run as stopped, so that it stops when the calling helper returns.
///
/// # Safety
///
/// `env` belongs to the calling run, or is null.
pub(crate) unsafe fn stop(env: *mut RunEnv) {
    if !env.is_null() {
        // SAFETY: guaranteed by the caller; other threads only access `interrupt`.
        unsafe { (*env).stopped = 1 };
    }
}

/// Whether the run is marked as stopped.
///
/// # Safety
///
/// `env` belongs to the calling run, or is null.
pub(crate) unsafe fn is_stopped(env: *const RunEnv) -> bool {
    // SAFETY: guaranteed by the caller. There is no reference to the whole, since other threads
    // write `interrupt`.
    !env.is_null() && unsafe { (*env).stopped } != 0
}

/// Whether the run was interrupted; if so, it is stopped when the calling helper returns.
///
/// # Safety
///
/// `env` belongs to the calling run, or is null.
pub(crate) unsafe fn stops_when_interrupted(env: *mut RunEnv) -> bool {
    if env.is_null() {
        return false;
    }
    // SAFETY: guaranteed by the caller; other threads only access `interrupt`, as an atomic word.
    unsafe {
        let interrupted = AtomicU32::from_ptr(&raw mut (*env).interrupt).load(Relaxed) != 0;
        if interrupted {
            (*env).stopped = 1;
        }
        interrupted
    }
}
