//! `fork`: who has to know that the process forks, and in which order they are told.
//!
//! No lock: a child could find it held by a thread that it does not have.
//!
//! Deliberately absent: locks of others. A child of a process with several threads finds maps
//! locked that another thread was changing at that moment, as it does malloc's arenas.

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// What is called around `fork`, in the thread that forks.
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

/// In the order in which they came: `before` is called in this order, the others in the reverse.
static HOOKS: [AtomicPtr<Hooks>; 2] = [const { AtomicPtr::new(std::ptr::null_mut()) }; 2];

static LOST: AtomicBool = AtomicBool::new(false);

/// Whether this process is a forked child that has not got a copy of its parent's machine code.
pub fn is_lost() -> bool {
    LOST.load(Ordering::Acquire)
}

/// Says so: from now on no thread of this process begins a run.
pub fn lose_code() {
    LOST.store(true, Ordering::Release);
}

/// Has `hooks` called at every `fork` from now on, unless they are already; there is room for all
/// that there are.
pub fn add_hooks(hooks: &'static Hooks) {
    let this = std::ptr::from_ref(hooks).cast_mut();
    let is_in = |place: &AtomicPtr<Hooks>| {
        let set =
            place.compare_exchange(std::ptr::null_mut(), this, Ordering::AcqRel, Ordering::Acquire);
        set.is_ok() || set == Err(this)
    };
    let found = HOOKS.iter().any(is_in);
    debug_assert!(found, "a place for all hooks");
    watch();
}

fn watch() {
    // Nobody waits for who is first: a child must not find another thread in it.
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if WATCHED.swap(true, Ordering::AcqRel) {
        return;
    }
    // SAFETY: the functions are there as long as the process, and do not unwind: they take locks,
    // and make system calls whose failure they look at.
    unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
}

fn hooks() -> impl DoubleEndedIterator<Item = &'static Hooks> {
    // SAFETY: null, or what `add_hooks` was given.
    HOOKS.iter().filter_map(|place| unsafe { place.load(Ordering::Acquire).as_ref() })
}

extern "C" fn prepare() {
    hooks().for_each(|hooks| (hooks.before)());
}

extern "C" fn parent() {
    hooks().rev().for_each(|hooks| (hooks.in_parent)());
}

extern "C" fn child() {
    hooks().rev().for_each(|hooks| (hooks.in_child)());
}
