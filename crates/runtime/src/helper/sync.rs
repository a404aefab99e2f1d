//! Helpers that lock a map's value.

use super::Call;
use std::sync::atomic::Ordering;

/// Turns before a waiter gives its time slice away.
const SPINS: u32 = 128;

/// `void bpf_spin_lock(lock)`. The verifier lets a program hold one at a time, and not end with it.
pub(super) fn spin_lock(call: &Call) -> u64 {
    let lock = call.word(0);
    let mut turns = 0u32;
    while lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
        turns = turns.wrapping_add(1);
        if turns.is_multiple_of(SPINS) { std::thread::yield_now() } else { std::hint::spin_loop() }
    }
    0
}

/// `void bpf_spin_unlock(lock)`.
pub(super) fn spin_unlock(call: &Call) -> u64 {
    call.word(0).store(0, Ordering::Release);
    0
}
