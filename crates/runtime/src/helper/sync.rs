//! Helpers and kfuncs that keep others out: locks in maps' values; and what has nothing to do here,
//! where no interrupt, no other task and no grace period can come between.

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

/// `bpf_rcu_read_lock`, `bpf_preempt_disable` and their likes: a run is one thread's, and what it
/// sees stays until it ends (`epoch`).
pub(super) fn nothing(_: &Call) -> u64 {
    0
}

/// `void bpf_local_irq_save(unsigned long *flags)`.
pub(super) fn irq_save(call: &Call) -> u64 {
    call.zero(0, 8);
    0
}
