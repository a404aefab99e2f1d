//! Waiting for ring buffer records, and notification by producers: one condition variable for the
//! process, because a record header does not name its buffer. If nobody waits, a producer only
//! reads one word.
//!
//! # Invariants
//! 1. A waiter increments the count, then checks; a producer commits, then checks the count: one of
//!    them sees the other.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU32, fence};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

static WAITING: AtomicU32 = AtomicU32::new(0);
static LOCK: Mutex<()> = Mutex::new(());
static COMMITTED: Condvar = Condvar::new();

/// Wakes waiters after a record was committed.
#[inline]
pub(super) fn notify() {
    fence(SeqCst);
    if WAITING.load(SeqCst) != 0 {
        wake();
    }
}

#[cold]
fn wake() {
    let _lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    COMMITTED.notify_all();
}

/// Waits until `ready` returns true or the deadline; returns the last result of `ready`.
pub(super) fn wait(until: Instant, ready: impl Fn() -> bool) -> bool {
    WAITING.fetch_add(1, SeqCst);
    fence(SeqCst);
    let mut lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let is_ready = loop {
        let left = until.saturating_duration_since(Instant::now());
        let is_ready = ready();
        if is_ready || left.is_zero() {
            break is_ready;
        }
        let woken = COMMITTED.wait_timeout(lock, left);
        lock = woken.unwrap_or_else(PoisonError::into_inner).0;
    };
    drop(lock);
    WAITING.fetch_sub(1, SeqCst);
    is_ready
}
