//! Helpers and kfuncs for mutual exclusion: locks in map values; and those without effect here,
//! where there are no interrupts, other tasks or grace periods.

use super::held::{hold, let_go};
use crate::run::Call;
use crate::{Errno, current};
use skep_mem::cpu;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Number of spins before a waiter yields.
const SPINS: u32 = 128;

/// `void bpf_spin_lock(lock)`. The verifier lets a program hold only one at a time, and not at its
/// end. A run that is interrupted while it waits ends without it.
pub(super) fn spin_lock(call: &Call) -> u64 {
    let lock = call.word(0);
    let mut turns = 0u32;
    while lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
        turns = turns.wrapping_add(1);
        if !turns.is_multiple_of(SPINS) {
            std::hint::spin_loop();
            continue;
        }
        if current::with(|current| current.is_interrupted_waiting()).unwrap_or(false) {
            return 0;
        }
        std::thread::yield_now();
    }
    hold(call.arg(0), spin_unlock);
    0
}

/// `void bpf_spin_unlock(lock)`.
pub(super) fn spin_unlock(call: &Call) -> u64 {
    let_go(call.arg(0));
    call.word(0).store(0, Ordering::Release);
    0
}

/// Maximum waiting time for a resilient lock.
const PATIENCE: Duration = Duration::from_millis(250);

/// `int bpf_res_spin_lock(lock)`: fails if the caller already holds the lock (EDEADLK) or has
/// waited too long (ETIMEDOUT). The word contains the owning thread.
pub(super) fn res_spin_lock(call: &Call) -> u64 {
    let (lock, mine) = (call.word(0), cpu::current() + 1);
    let mut deadline = None;
    loop {
        match lock.compare_exchange_weak(0, mine, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => {
                hold(call.arg(0), spin_unlock);
                return 0;
            }
            Err(holder) if holder == mine => return Errno::EDEADLK.as_int(),
            Err(_) => std::thread::yield_now(),
        }
        let now = Instant::now();
        if now >= *deadline.get_or_insert(now + PATIENCE) {
            return Errno::ETIMEDOUT.as_int();
        }
    }
}

/// `int bpf_res_spin_lock_irqsave(lock, flags)`.
pub(super) fn res_spin_lock_irqsave(call: &Call) -> u64 {
    call.zero(1, 8);
    res_spin_lock(call)
}

/// `bpf_rcu_read_lock`, `bpf_preempt_disable` and the like: a run belongs to one thread, and
/// everything it sees stays valid until it ends (`epoch`).
pub(super) fn nothing(_: &Call) -> u64 {
    0
}

/// `void bpf_local_irq_save(unsigned long *flags)`.
pub(super) fn irq_save(call: &Call) -> u64 {
    call.zero(0, 8);
    0
}
