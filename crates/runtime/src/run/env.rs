//! `Env`: fuel and interruption of a run.

use crate::Error;
use skep_jit::RunEnv;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// What machine code with fuel shares with its run; part of the context, since a context is in one
/// run at a time.
#[derive(Default)]
pub(crate) struct Env(Arc<RunEnv>);

impl Env {
    /// The environment of a new run; `None` without fuel.
    #[inline]
    pub(crate) fn prepare(&self, fuel: Option<u64>) -> Option<&RunEnv> {
        let (fuel, env) = (fuel?, &*self.0);
        env.fuel.store(i64::try_from(fuel).unwrap_or(i64::MAX), Relaxed);
        env.stopped.store(0, Relaxed);
        env.record.store(0, Relaxed);
        Some(env)
    }

    /// Whether the run completed.
    pub(crate) fn outcome(&self) -> Result<(), Error> {
        if self.0.stopped.load(Relaxed) == 0 {
            return Ok(());
        }
        if self.0.fuel.load(Relaxed) < 0 {
            return Err(Error::stopped("out of fuel"));
        }
        self.take_interrupt();
        Err(Error::stopped("interrupted"))
    }

    /// Units of fuel used by a run that was given this many.
    pub(crate) fn used(&self, given: u64) -> u64 {
        let left = self.0.fuel.load(Relaxed);
        given.min(i64::MAX as u64).saturating_sub(left.unsigned_abs())
    }

    /// Whether the run must stop; if so, it is marked as stopped.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.0.interrupt.load(Relaxed) != 0 && self.take_interrupt()
    }

    fn take_interrupt(&self) -> bool {
        self.0.interrupt.swap(0, Relaxed) != 0
    }

    pub(crate) fn interrupter(&self) -> Interrupter {
        Interrupter(self.0.clone())
    }
}

/// Stops runs with one context, from any thread.
#[derive(Clone)]
pub struct Interrupter(Arc<RunEnv>);

impl Interrupter {
    /// Stops the current run, or the next one, at its next unit of fuel
    /// ([`crate::LoadOptions::fuel`]). Compiled programs stop only if they have fuel, but
    /// [`crate::Instance::test_run`] ends between two runs of any.
    pub fn interrupt(&self) {
        self.0.interrupt.store(1, Relaxed);
    }
}

impl std::fmt::Debug for Interrupter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Interrupter")
    }
}

/// Consumes one unit of the calling run's fuel, and checks for interruption: a callback may be
/// called often without jumping. Returns whether the run may continue; if not, it is stopped when
/// the helper returns.
pub(crate) fn spend(env: Option<&RunEnv>) -> bool {
    let Some(env) = env else { return true };
    let fuel = env.fuel.load(Relaxed) - 1;
    env.fuel.store(fuel, Relaxed);
    if fuel < 0 || env.interrupt.load(Relaxed) != 0 {
        env.stopped.store(1, Relaxed);
    }
    env.stopped.load(Relaxed) == 0
}

/// Marks the calling run as stopped, so that it stops when the calling helper returns.
pub(crate) fn stop(env: Option<&RunEnv>) {
    if let Some(env) = env {
        env.stopped.store(1, Relaxed);
    }
}

/// Whether the run is marked as stopped.
pub(crate) fn is_stopped(env: Option<&RunEnv>) -> bool {
    env.is_some_and(|env| env.stopped.load(Relaxed) != 0)
}

/// Whether the run was interrupted; if so, it is stopped when the calling helper returns.
pub(crate) fn stops_when_interrupted(env: Option<&RunEnv>) -> bool {
    let interrupted = env.is_some_and(|env| env.interrupt.load(Relaxed) != 0);
    if interrupted {
        stop(env);
    }
    interrupted
}
