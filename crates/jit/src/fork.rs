//! `fork`: a child gets a copy of all machine code at the same addresses, which it can patch
//! independently.
//!
//! The mappings are not inherited (`pool`): writing to a shared one would change the parent's code.
//! Before `fork`, the text lock is taken, so that the child does not see a partially applied batch,
//! and each pool is copied to new memory, which the child maps at the pool's address. The copy is
//! made before, because the parent continues while the child starts, and may free or replace
//! programs that the child has. Machine code, sites and addresses stay valid, and neither process
//! sees patches of the other.
//!
//! A child without a copy (the host denies it, or it was created by a raw system call, which cannot
//! be detected) has no code; in the first case [`is_lost`] says so.
//!
//! Deliberately absent: other locks. In a child of a process with several threads, maps that
//! another thread was changing at that moment stay locked, like malloc's arenas.

#![allow(unsafe_code)]

use crate::image::{self, Memory};
use crate::pool::Copied;
use rustix::io::Errno;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

static LOST: AtomicBool = AtomicBool::new(false);

/// Hooks that run around `fork`, in the thread that forks.
#[derive(Clone, Copy, Debug)]
pub struct Hooks {
    /// Before the fork: takes locks that the child needs.
    pub before: fn(),
    /// In the parent.
    pub in_parent: fn(),
    /// In the child, on its only thread, once the code is in place. It must not wait for locks that
    /// other threads of the parent may have held.
    pub in_child: fn(),
}

static HOOKS: Mutex<Vec<Hooks>> = Mutex::new(Vec::new());

thread_local! {
    /// Held while this thread forks.
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

struct Held {
    memory: MutexGuard<'static, Memory>,
    /// The child's code, if the host provides memory for it.
    copies: Result<Vec<Copied>, Errno>,
    hooks: MutexGuard<'static, Vec<Hooks>>,
}

/// Whether this process is a forked child without machine code.
pub fn is_lost() -> bool {
    LOST.load(Ordering::Acquire)
}

/// Registers hooks to be called at every `fork`.
pub fn add_hooks(hooks: Hooks) {
    watch();
    HOOKS.lock().unwrap_or_else(PoisonError::into_inner).push(hooks);
}

/// Registers the handlers of `fork`.
pub(crate) fn watch() {
    // No thread waits for another, which may not exist in a child.
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if WATCHED.swap(true, Ordering::AcqRel) {
        return;
    }
    // The child finds the result already known.
    image::patching_is_refused();
    image::synchronising_is_refused();
    // SAFETY: the functions live as long as the process, and do not unwind: they take locks, and
    // make system calls whose results they check.
    unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
}

extern "C" fn prepare() {
    let hooks = HOOKS.lock().unwrap_or_else(PoisonError::into_inner);
    hooks.iter().for_each(|hook| (hook.before)());
    let memory = image::lock();
    let copies = memory.copy();
    let _ = HELD.try_with(|held| held.replace(Some(Held { memory, copies, hooks })));
}

extern "C" fn parent() {
    let held = HELD.try_with(RefCell::take).ok().flatten();
    let Some(Held { memory, copies, hooks }) = held else { return };
    drop((memory, copies));
    hooks.iter().for_each(|hook| (hook.in_parent)());
}

extern "C" fn child() {
    let held = HELD.try_with(RefCell::take).ok().flatten();
    let Some(Held { mut memory, copies, hooks }) = held else { return };
    if copies.and_then(|copies| memory.adopt(copies)).is_err() {
        LOST.store(true, Ordering::Release);
    }
    drop(memory);
    hooks.iter().for_each(|hook| (hook.in_child)());
}
