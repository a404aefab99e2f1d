//! Which "CPU" a thread is: what `bpf_get_smp_processor_id` returns, and whose values of per-CPU
//! maps it uses. A thread that runs a program of a runtime gets the lowest number that is free
//! there, and keeps it until it ends.
//!
//! # Invariants
//! 1. No two living threads have the same number of the same runtime.

use skep_jit::thread_word;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The numbers of one runtime.
pub(crate) struct Cpus {
    /// Different for each runtime of the process, from 1.
    id: u64,
    /// No lock: a child of `fork` could find it held by a thread that it does not have.
    taken: Box<[AtomicBool]>,
}

thread_local! {
    /// The runtime that this thread ran a program of last, and its number there.
    static HERE: Cell<(u64, u32)> = const { Cell::new((0, 0)) };
    /// All numbers that the thread has; given back when it ends.
    static OWNED: RefCell<Vec<Owned>> = const { RefCell::new(Vec::new()) };
}

struct Owned {
    cpus: Arc<Cpus>,
    cpu: u32,
}

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(taken) = self.cpus.taken.get(self.cpu as usize) {
            taken.store(false, Ordering::Release);
        }
        // What runs later in this thread, in other destructors, asks for a number of its own.
        HERE.set((0, 0));
    }
}

/// The calling thread ends: it gives its numbers back.
pub(crate) fn leave() {
    let _ = OWNED.try_with(|owned| owned.take());
}

impl Cpus {
    pub(crate) fn new(count: u32) -> Arc<Cpus> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let taken = (0..count).map(|_| AtomicBool::new(false)).collect();
        Arc::new(Cpus { id, taken })
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.taken.len()
    }

    /// Makes the calling thread one of the runtime's; false if there is no number left.
    #[inline]
    pub(crate) fn enter(self: &Arc<Cpus>) -> bool {
        HERE.get().0 == self.id || self.claim()
    }

    #[cold]
    fn claim(self: &Arc<Cpus>) -> bool {
        // In a thread that is ending there is nothing to give the number back.
        let claimed = OWNED.try_with(|owned| {
            let mut owned = owned.borrow_mut();
            // Runtimes that are gone need no numbers.
            owned.retain(|own| Arc::strong_count(&own.cpus) > 1);
            if let Some(own) = owned.iter().find(|own| own.cpus.id == self.id) {
                return Some(own.cpu);
            }
            let cpu = self.taken.iter().position(|taken| !taken.swap(true, Ordering::AcqRel))?;
            owned.push(Owned { cpus: self.clone(), cpu: cpu as u32 });
            Some(cpu as u32)
        });
        let Ok(Some(cpu)) = claimed else { return false };
        HERE.set((self.id, cpu));
        thread_word::set_cpu(cpu);
        true
    }
}

/// The calling thread's number; 0 for one that never ran a program.
#[inline]
pub(crate) fn current() -> u32 {
    HERE.get().1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_different_numbers_and_give_them_back() {
        let (one, two) = (Cpus::new(2), Cpus::new(1));
        assert!(one.enter() && current() == 0);
        let other = one.clone();
        let inner = std::thread::spawn(move || {
            assert!(other.enter());
            let full = other.clone();
            let third = std::thread::spawn(move || full.enter()).join().unwrap();
            (current(), third)
        });
        assert_eq!(inner.join().unwrap(), (1, false));
        assert!(two.enter() && one.enter() && current() == 0);
        let again = one.clone();
        assert!(std::thread::spawn(move || again.enter() && current() == 1).join().unwrap());
    }
}
