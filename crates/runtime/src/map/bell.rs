//! Who waits for records of ring buffers, and how producers wake them: one bell for the process, as
//! a record's header does not say whose it is. A producer that nobody waits for reads one word.
//!
//! # Invariants
//! 1. A waiter counts itself, then looks; a producer commits, then looks at the count: one of them
//!    sees the other.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU32, fence};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

static WAITING: AtomicU32 = AtomicU32::new(0);
static LOCK: Mutex<()> = Mutex::new(());
static BELL: Condvar = Condvar::new();

/// Wakes who waits, after a record was committed.
#[inline]
pub(super) fn ring() {
    fence(SeqCst);
    if WAITING.load(SeqCst) != 0 {
        wake();
    }
}

#[cold]
fn wake() {
    let _lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    BELL.notify_all();
}

/// Waits until `ready` says so, or until the time has come; what `ready` said last.
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
        let woken = BELL.wait_timeout(lock, left);
        lock = woken.unwrap_or_else(PoisonError::into_inner).0;
    };
    drop(lock);
    WAITING.fetch_sub(1, SeqCst);
    is_ready
}
