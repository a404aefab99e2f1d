//! Thread-local state of the current run, for helpers: machine code passes only the five arguments.
//!
//! # Invariants
//! 1. During a run, `CURRENT` of its thread points to the [`Current`] that [`enter`] borrows;
//!    before and after it has the value of the outer run, or null.
//! 2. `last` points to the frames of the innermost active [`Current::call_back`], and `above` to
//!    those around it; or it is null.
//! 3. Between `bottom` and `top` of [`Frames`] there is stack of the thread, where only machine
//!    code has frames: it is waiting for the helper that recorded `bottom`.

#![allow(unsafe_code)]

use crate::ctx::Ctx;
use crate::run;
use crate::shared::Shared;
use skep_interp::CALLBACK_DEPTH_MAX;
use skep_jit::RunEnv;
use skep_mem::Mem;
use std::cell::Cell;
use std::sync::Arc;

/// What runs the program.
#[derive(Clone, Copy)]
pub(crate) enum RunBy<'a> {
    Interpreter,
    /// With this environment, if it has fuel.
    MachineCode(Option<&'a RunEnv>),
}

/// The run of a thread.
pub(crate) struct Current<'a> {
    pub(crate) ctx: &'a Ctx,
    /// The runtime: its maps, its log, its timers.
    pub(crate) shared: &'a Arc<Shared>,
    by: RunBy<'a>,
    /// Start of the frames of the run's machine code.
    first: Frames,
    /// The same for the current callback; null if there is none.
    last: Cell<*const Frames>,
    /// Number of callbacks that have begun and not ended.
    callbacks: Cell<u32>,
    /// Id of the program that was started; 0 for a callback outside of runs.
    prog: u32,
    /// The enclosing run; set by [`enter`].
    outer: Cell<*const Current<'static>>,
}

impl<'a> Current<'a> {
    /// A run of program `prog`.
    #[inline]
    pub(crate) fn new(
        ctx: &'a Ctx,
        shared: &'a Arc<Shared>,
        prog: u32,
        by: RunBy<'a>,
    ) -> Current<'a> {
        let (first, last) = (Frames::default(), Cell::default());
        let (callbacks, outer) = Default::default();
        Current { ctx, shared, by, first, last, callbacks, prog, outer }
    }

    /// The environment for machine code; `None` without fuel and in an interpreted run.
    #[inline]
    pub(crate) fn env(&self) -> Option<&'a RunEnv> {
        match self.by {
            RunBy::Interpreter => None,
            RunBy::MachineCode(env) => env,
        }
    }

    /// Whether the run in which a helper waits must stop: if so, it stops when the helper returns.
    pub(crate) fn is_interrupted_waiting(&self) -> bool {
        match self.by {
            RunBy::MachineCode(env) => run::stops_when_interrupted(env),
            RunBy::Interpreter => {
                let interrupted = self.ctx.env.is_interrupted();
                self.ctx.effects.stopped.set(interrupted);
                interrupted
            }
        }
    }

    /// Start of the frames of the run's machine code.
    #[inline]
    pub(crate) fn first_frames(&self) -> &Frames {
        &self.first
    }

    /// The frames of the function that called a helper.
    fn last_frames(&self) -> &Frames {
        // SAFETY: invariant 2.
        unsafe { self.last.get().as_ref() }.unwrap_or(&self.first)
    }

    /// Calls a function of the program from a helper: `work` passes `frames` to machine code.
    /// `None` if there are too many calls in each other: the run must stop.
    pub(crate) fn call_back<T>(&self, work: impl FnOnce(&Frames) -> T) -> Option<T> {
        let depth = self.callbacks.get();
        if depth >= CALLBACK_DEPTH_MAX {
            self.ctx.effects.nested.set(true);
            return None;
        }
        self.callbacks.set(depth + 1);
        let frames = Frames { above: self.last_frames(), ..Frames::default() };
        let outer = self.last.replace(&frames);
        let _scope = CallbackScope { current: self, outer, depth };
        Some(work(&frames))
    }

    /// Reads the bytes at `addr` if they are in frames of the run's compiled functions, as far as
    /// these are known: up to those of helpers that recorded their call site ([`called_at`]).
    pub(crate) fn read_frames(&self, addr: u64, bytes: &mut [u8]) -> bool {
        let Some(end) = addr.checked_add(bytes.len() as u64) else { return false };
        let mut at: *const Frames = self.last_frames();
        // SAFETY: invariant 2, for the frames of each callback and the enclosing ones.
        while let Some(frames) = unsafe { at.as_ref() } {
            if frames.bottom.get() <= addr && end <= frames.top.get() {
                // SAFETY: invariant 3.
                unsafe { Mem::new(addr, bytes.len()) }.read(bytes);
                return true;
            }
            at = frames.above;
        }
        false
    }
}

/// A range of the thread's stack that only contains frames of compiled functions.
pub(crate) struct Frames {
    /// Its end: the stack pointer when machine code was called.
    top: Cell<u64>,
    /// Its start: the stack pointer when machine code called a helper.
    bottom: Cell<u64>,
    /// The frames around the helper that made the callback; null if there are none.
    above: *const Frames,
}

impl Default for Frames {
    #[inline]
    fn default() -> Frames {
        Frames { top: Cell::new(0), bottom: Cell::new(u64::MAX), above: std::ptr::null() }
    }
}

impl Frames {
    /// Where the caller of machine code records its stack pointer.
    #[inline]
    pub(crate) fn top(&self) -> *mut u64 {
        self.top.as_ptr()
    }
}

/// A helper of the thread's run was called by machine code with this stack pointer.
pub(crate) fn called_at(stack_pointer: u64) {
    with(|current| current.last_frames().bottom.set(stack_pointer));
}

/// Restores the caller's frames, also if `work` panics.
struct CallbackScope<'a> {
    current: &'a Current<'a>,
    outer: *const Frames,
    depth: u32,
}

impl Drop for CallbackScope<'_> {
    fn drop(&mut self) {
        self.current.last.set(self.outer);
        self.current.callbacks.set(self.depth);
    }
}

thread_local! {
    static CURRENT: Cell<*const Current<'static>> = const { Cell::new(std::ptr::null()) };
}

/// Runs `work` with `current` as the thread's run.
#[inline]
pub(crate) fn enter<T>(current: &Current<'_>, work: impl FnOnce() -> T) -> T {
    let this = std::ptr::from_ref(current).cast::<Current<'static>>();
    let outer = CURRENT.replace(this);
    current.outer.set(outer);
    let _scope = Scope { outer };
    work()
}

/// Restores the outer run, also if `work` panics.
struct Scope {
    outer: *const Current<'static>,
}

impl Drop for Scope {
    #[inline]
    fn drop(&mut self) {
        CURRENT.set(self.outer);
    }
}

/// Whether the thread is in a run.
#[inline]
pub(crate) fn is_running() -> bool {
    !CURRENT.get().is_null()
}

/// Whether one of the thread's runs is of this program.
#[cold]
pub(crate) fn runs(prog: u32, shared: &Arc<Shared>) -> bool {
    let mut at = CURRENT.get();
    // SAFETY: invariant 1, for each run and the enclosing one.
    while let Some(current) = unsafe { at.as_ref() } {
        if current.prog == prog && Arc::ptr_eq(current.shared, shared) {
            return true;
        }
        at = current.outer.get();
    }
    false
}

/// Passes the thread's run to `look`; `None` outside of runs.
#[inline]
pub(crate) fn with<T>(look: impl FnOnce(&Current<'_>) -> T) -> Option<T> {
    let current = CURRENT.get();
    // SAFETY: invariant 1: it is null or points to a value that lives as long as the run.
    unsafe { current.as_ref() }.map(look)
}
