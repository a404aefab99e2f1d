//! A spin lock for a few nanoseconds of work: one compare-and-swap to acquire, one store to
//! release.
//!
//! `std::sync::Mutex` needs an atomic swap to release, and a poison flag; the hash map's update
//! would spend a third of its time there. Holders must not block, call out or allocate.
//!
//! A thread that is the only one running programs (`epoch::begin_lone`) acquires it with a store:
//! the atomic operation would wait for all earlier stores, which costs as much as the rest of an
//! update.
//!
//! # Invariants
//! 1. `locked` is 1 exactly while one [`Guard`] exists; only a guard reaches `value`.
//! 2. A lock is acquired during a run (`epoch::enter`), so a thread that is the only one in a run
//!    is the only user of the lock until the guard is dropped; only tests acquire locks outside of
//!    runs, and then there are none.

#![allow(unsafe_code)]

use crate::epoch::{self, Lone};
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};

/// Number of spins before a waiter yields: the holder may not be running.
const SPINS: u32 = 128;

/// A value behind a spin lock, on cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
pub struct Spin<T> {
    locked: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: invariant 1: the value is reached by one thread at a time, so it must only be Send.
unsafe impl<T: Send> Sync for Spin<T> {}

/// Access to the value.
#[derive(Debug)]
pub struct Guard<'a, T> {
    spin: &'a Spin<T>,
    /// Acquired by a thread that is the only one until this is dropped.
    ends_lone: bool,
    /// Not `Send`: it is this thread that is alone.
    _here: PhantomData<*const ()>,
}

impl<T> Spin<T> {
    /// A lock that is free.
    pub fn new(value: T) -> Spin<T> {
        Spin { locked: AtomicU32::new(0), value: UnsafeCell::new(value) }
    }

    /// Waits for the lock.
    #[inline(always)]
    pub fn lock(&self) -> Guard<'_, T> {
        match self.try_lock() {
            Some(guard) => guard,
            None => self.wait(),
        }
    }

    /// The lock, if it is free.
    #[inline(always)]
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        let lone = epoch::begin_lone();
        if lone != Lone::No {
            // Otherwise it is held by this thread itself.
            let is_free = self.locked.load(Ordering::Relaxed) == 0;
            if is_free {
                self.locked.store(1, Ordering::Relaxed);
            } else if lone == Lone::Begun {
                epoch::end_lone();
            }
            return is_free.then(|| Guard {
                spin: self,
                ends_lone: lone == Lone::Begun,
                _here: PhantomData,
            });
        }
        assert!(epoch::is_in_run(), "a lock is taken in a run");
        let taken = self.locked.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok().then(|| Guard { spin: self, ends_lone: false, _here: PhantomData })
    }

    #[cold]
    fn wait(&self) -> Guard<'_, T> {
        let mut turns = 0;
        loop {
            if self.locked.load(Ordering::Relaxed) == 0
                && let Some(guard) = self.try_lock()
            {
                return guard;
            }
            turns += 1;
            if turns % SPINS == 0 {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.spin.locked.store(0, Ordering::Release);
        if self.ends_lone {
            epoch::end_lone();
        }
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: invariant 1: this guard is the only one.
        unsafe { &*self.spin.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: invariant 1: this guard is the only one, and it is borrowed mutably.
        unsafe { &mut *self.spin.value.get() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn increments_of_two_threads_are_not_lost() {
        // Miri takes a thousand times as long.
        let turns = if cfg!(miri) { 200 } else { 100_000 };
        let counter = Spin::new(0u64);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let _run = epoch::enter().unwrap();
                    (0..turns).for_each(|_| *counter.lock() += 1);
                });
            }
        });
        let _run = epoch::enter().unwrap();
        assert_eq!(*counter.lock(), 2 * turns);
        let held = counter.lock();
        // Twice: a failed attempt leaves it locked.
        assert!(counter.try_lock().is_none());
        assert!(counter.try_lock().is_none());
        drop(held);
    }
}
