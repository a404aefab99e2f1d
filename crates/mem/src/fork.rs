//! Functions called around `fork`, and their order.
//!
//! No lock: a child could find it held by a thread that it does not have.
//!
//! Deliberately absent: locks of others. A child of a process with several threads may find maps
//! locked by a thread that was changing them at that moment, as with malloc's arenas.

#![allow(unsafe_code)]

use crate::registered::Registered;
use std::sync::atomic::{AtomicBool, Ordering};

/// Functions that are called around `fork`, in the thread that forks.
#[derive(Clone, Copy, Debug)]
pub struct Hooks {
    /// Before the fork: takes locks that the child needs.
    pub before: fn(),
    /// In the parent.
    pub in_parent: fn(),
    /// In the child, on its only thread. It must not wait for locks that other threads of the
    /// parent may have held.
    pub in_child: fn(),
}

/// In order of registration: `before` is called in this order, the others in reverse.
static HOOKS: Registered<Hooks> = Registered::new();

static LOST: AtomicBool = AtomicBool::new(false);

/// Whether this process is a forked child that has not got a copy of its parent's machine code.
pub fn is_lost() -> bool {
    LOST.load(Ordering::Acquire)
}

/// Sets that: from now on no thread of this process begins a run.
pub fn lose_code() {
    LOST.store(true, Ordering::Release);
}

/// Has `hooks` called at every `fork` from now on, unless they already are.
pub fn add_hooks(hooks: &'static Hooks) {
    HOOKS.add(hooks);
    watch();
}

fn watch() {
    // No thread waits for the first: a child must not find another thread in it.
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if WATCHED.swap(true, Ordering::AcqRel) {
        return;
    }
    // SAFETY: the functions exist as long as the process, and do not unwind: they take locks, and
    // make system calls whose results they check.
    unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
}

extern "C" fn prepare() {
    HOOKS.iter().for_each(|hooks| (hooks.before)());
}

extern "C" fn parent() {
    HOOKS.each_reversed(&mut |hooks| (hooks.in_parent)());
}

extern "C" fn child() {
    HOOKS.each_reversed(&mut |hooks| (hooks.in_child)());
}
