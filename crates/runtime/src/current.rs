//! What a helper can know of the run that it is called from: machine code passes nothing but the
//! five arguments, so the rest is the thread's.
//!
//! # Invariants
//! 1. While a run goes on, `CURRENT` of its thread points to the [`Current`] that [`enter`]
//!    borrows; before and after it has the value of the outer run, or null.

#![allow(unsafe_code)]

use crate::ctx::Ctx;
use crate::helper::{Copies, Held, Tunnel};
use crate::recorded::Recorded;
use crate::runtime::Shared;
use skep_jit::RunEnv;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Where a packet should go instead of up the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redirect {
    /// `bpf_redirect`, `bpf_redirect_peer`, `bpf_redirect_neigh`.
    Interface {
        /// Index of the interface.
        ifindex: u32,
        /// Flags of the call.
        flags: u64,
    },
    /// `bpf_redirect_map`.
    Map {
        /// Id of the map.
        map_id: u32,
        /// Index or key in it.
        key: u64,
        /// Flags of the call.
        flags: u64,
    },
}

/// What programs did besides returning a number.
#[derive(Default)]
pub(crate) struct Effects {
    pub(crate) redirect: RefCell<Option<Redirect>>,
    /// Interfaces that clones of the packet were sent to, and the packet as it was.
    pub(crate) clones: RefCell<Recorded<(u32, Vec<u8>)>>,
    /// The tunnel that the packet is to be sent through.
    pub(crate) tunnel: RefCell<Option<Tunnel>>,
    /// Signals that were to be sent, and whether to one thread only.
    pub(crate) signals: RefCell<Recorded<(u32, bool)>>,
    /// What `bpf_set_retval` has set.
    pub(crate) retval: Cell<i32>,
    /// What iterators over bits go through.
    pub(crate) bits: RefCell<Copies>,
    /// Locks, records and objects that the run is to give back.
    pub(crate) held: Held,
    /// The interpreted run is to end: it was interrupted while a helper waited.
    pub(crate) stopped: Cell<bool>,
    /// There is something in the lists: clones, signals, bits, what is held.
    pub(crate) listed: Cell<bool>,
    /// A helper of ours panicked.
    pub(crate) failure: RefCell<Option<String>>,
}

impl Effects {
    /// Forgets the run before.
    #[inline]
    pub(crate) fn clear(&mut self) {
        *self.redirect.get_mut() = None;
        *self.tunnel.get_mut() = None;
        self.retval.set(0);
        if self.listed.get() {
            self.clear_lists();
        }
        *self.failure.get_mut() = None;
    }

    #[cold]
    fn clear_lists(&mut self) {
        self.listed.set(false);
        self.signals.get_mut().clear();
        self.clones.get_mut().clear();
        self.bits.get_mut().clear();
        self.held.clear();
    }

    /// What a helper of ours failed with.
    #[inline]
    pub(crate) fn take_failure(&self) -> Option<String> {
        self.failure.borrow_mut().take()
    }
}

/// The run of a thread.
pub(crate) struct Current<'a> {
    pub(crate) ctx: &'a Ctx,
    /// The runtime: its maps, its log, its timers.
    pub(crate) shared: &'a Arc<Shared>,
    /// What machine code with fuel gets; null in an interpreted run.
    pub(crate) env: *mut RunEnv,
    /// Lies above all frames of the run on the thread's stack; 0 if it is interpreted.
    pub(crate) stack_top: u64,
    /// Number of the program that was started; 0 for a callback outside of runs.
    prog: u32,
    /// The run that this one is in; [`enter`] sets it.
    outer: Cell<*const Current<'static>>,
}

impl<'a> Current<'a> {
    /// A run of program `prog`.
    #[inline]
    pub(crate) fn new(
        (ctx, shared, prog): (&'a Ctx, &'a Arc<Shared>, u32),
        (env, stack_top): (*mut RunEnv, u64),
    ) -> Current<'a> {
        Current { ctx, shared, env, stack_top, prog, outer: Cell::default() }
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

/// Sets the outer run back, also if `work` panics.
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
    // SAFETY: invariant 1, for each run and the one around it.
    while let Some(current) = unsafe { at.as_ref() } {
        if current.prog == prog && Arc::ptr_eq(current.shared, shared) {
            return true;
        }
        at = current.outer.get();
    }
    false
}

/// Gives the thread's run to `look`; `None` outside of runs.
#[inline]
pub(crate) fn with<T>(look: impl FnOnce(&Current<'_>) -> T) -> Option<T> {
    let current = CURRENT.get();
    // SAFETY: invariant 1: it is null or points to a value that lives as long as the run.
    unsafe { current.as_ref() }.map(look)
}
