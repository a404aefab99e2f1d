//! The CPU number of a run: the result of `bpf_get_smp_processor_id`, and the index of its values
//! in per-CPU maps. A runtime executes at most as many runs concurrently as it has CPUs; others
//! wait for a free one (`Instance::run`).
//!
//! While there is a number for each thread, a thread keeps its number between runs, at no cost per
//! run. Once there are more threads than numbers, the runtime is crowded: each run takes a number,
//! the thread's previous one if possible, and returns it. When threads have ended and there are
//! enough numbers again, threads keep theirs again.
//!
//! # Invariants
//! 1. No two concurrent runs of a runtime have the same number. A number's word records its owner.
//!    A kept number may only be taken from its thread after changing the state, a barrier, and
//!    checking that the thread is in no run (`epoch`): a run that it begins later sees the new
//!    state. A busy number belongs to the run until its thread returns it.
//! 2. A thread uses a kept number without checking its word only while the state is the one in
//!    which it got the number.
//! 3. Words written before a `fork` are invalid in the child, which has none of the other threads.

#![allow(unsafe_code)]

use crate::epoch::{self, Watcher};
use crate::thread_word;
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The numbers of one runtime.
#[derive(Debug)]
pub struct Cpus {
    /// Different for each runtime of the process, from 1.
    id: u64,
    /// Odd while the runtime is crowded; incremented by each change.
    state: AtomicU32,
    /// Threads that have run programs here and have not ended.
    threads: AtomicU32,
    /// Lock-free: a child of `fork` could find a lock held by a thread that does not exist in it.
    numbers: Box<[Number]>,
}

/// Whose a number is, on a cache line of its own.
#[derive(Debug)]
#[repr(align(64))]
struct Number(AtomicU64);

/// The word of a number that no thread has.
const FREE: u64 = 0;
/// Added to the word of a number used by a run that will return it.
const BUSY: u64 = 1 << 16;
/// Number of `fork`s that led to this process.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The word of a number kept by the thread with a slot of `epoch`.
fn kept_by(slot: u32) -> u64 {
    u64::from(FORKS.load(Ordering::Relaxed)) << 32 | u64::from(slot + 1)
}

/// A thread's number in a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Here {
    /// The runtime.
    id: u64,
    /// The runtime's state when the thread got the number.
    state: u32,
    cpu: u32,
}

const NOWHERE: Here = Here { id: 0, state: 0, cpu: 0 };

thread_local! {
    /// The number of the current run, or the one that the thread keeps from its last run.
    static HERE: Cell<Here> = const { Cell::new(NOWHERE) };
    /// The thread's number in its last run.
    static LAST: Cell<Here> = const { Cell::new(NOWHERE) };
    /// The numbers that the thread keeps, or had last, by runtime.
    static OWNED: RefCell<Vec<Owned>> = const { RefCell::new(Vec::new()) };
}

struct Owned {
    cpus: Arc<Cpus>,
    slot: u32,
    cpu: u32,
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.cpus.swap(self.cpu, kept_by(self.slot), FREE);
        self.cpus.forget_thread();
        // Code that runs later in this thread, in other destructors, takes a number of its own. The
        // thread may be in a run of another runtime.
        if HERE.get().id == self.cpus.id {
            NOWHERE.begin();
        }
        if LAST.get().id == self.cpus.id {
            LAST.set(NOWHERE);
        }
    }
}

/// At thread exit, and in children of `fork`.
static WATCHER: Watcher =
    Watcher { leaves: leave, in_child: |_| forget_other_threads(), ..Watcher::NONE };

/// The calling thread is exiting and returns its numbers.
fn leave() {
    let _ = OWNED.try_with(|owned| owned.take());
}

/// In a child of `fork`, on its only thread: keeps the numbers that this thread has.
fn forget_other_threads() {
    let of_parent = u64::from(FORKS.fetch_add(1, Ordering::Relaxed)) << 32;
    let _ = OWNED.try_with(|owned| {
        let Ok(owned) = owned.try_borrow() else { return };
        for own in owned.iter() {
            own.cpus.threads.store(1, Ordering::Relaxed);
            for busy in [0, BUSY] {
                let (mine, now) = (u64::from(own.slot + 1) | busy, kept_by(own.slot) | busy);
                own.cpus.swap(own.cpu, of_parent | mine, now);
            }
        }
    });
}

/// How a run has its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// The thread keeps it.
    Kept,
    /// It is returned at the end of the run.
    Busy,
    /// The run is nested in another one, whose number is unaffected.
    Within,
}

/// A run's number, until this is dropped. It belongs to the thread, and to its run of `epoch`.
#[derive(Debug)]
pub struct Turn<'a> {
    cpus: &'a Cpus,
    how: How,
    here: Here,
    /// The thread's number in the enclosing run.
    outer: Option<Here>,
    /// Not `Send`: the number is this thread's.
    _here: PhantomData<*const ()>,
}

impl Drop for Turn<'_> {
    #[inline]
    fn drop(&mut self) {
        let is_same = self.cpus.state.load(Ordering::Relaxed) == self.here.state;
        if self.how != How::Kept || !is_same || self.outer.is_some() {
            self.end();
        }
    }
}

impl Turn<'_> {
    #[cold]
    fn end(&self) {
        if self.how != How::Within
            && let Some(slot) = epoch::slot()
        {
            let busy = if self.how == How::Busy { BUSY } else { 0 };
            self.cpus.swap(self.here.cpu, kept_by(slot) | busy, FREE);
            NOWHERE.begin();
        }
        if let Some(outer) = self.outer {
            outer.begin();
        }
    }
}

impl Here {
    /// Sets the number of the calling thread.
    fn begin(self) {
        HERE.set(self);
        // SAFETY: it belongs to the thread: invariant 1; a thread that is nowhere runs no code.
        unsafe { thread_word::set_cpu(self.cpu) };
    }
}

impl Cpus {
    /// `count` numbers.
    pub fn new(count: u32) -> Arc<Cpus> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        epoch::add_watcher(&WATCHER);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let numbers = (0..count).map(|_| Number(AtomicU64::new(FREE))).collect();
        Arc::new(Cpus { id, state: AtomicU32::new(0), threads: AtomicU32::new(0), numbers })
    }

    /// Their count.
    pub fn count(&self) -> usize {
        self.numbers.len()
    }

    /// Gives the calling thread, which is in a run of `epoch`, a number until the end of the run;
    /// `None` if all are taken. `nested` says that the thread is already in a run of a program.
    #[inline]
    pub fn enter(self: &Arc<Cpus>, nested: bool) -> Option<Turn<'_>> {
        let (here, state) = (HERE.get(), self.state.load(Ordering::Relaxed));
        if here.id == self.id && here.state == state && state.is_multiple_of(2) && !nested {
            return Some(Turn {
                cpus: self,
                how: How::Kept,
                here,
                outer: None,
                _here: PhantomData,
            });
        }
        self.claim(nested)
    }

    #[cold]
    fn claim(self: &Arc<Cpus>, nested: bool) -> Option<Turn<'_>> {
        let slot = epoch::slot()?;
        let outer = nested.then(|| HERE.get());
        let state = self.state.load(Ordering::Acquire);
        let last = LAST.get();
        let last = if last.id == self.id { Some(last.cpu) } else { self.join(slot) };
        // An exiting thread would not return a kept number.
        let keeps = last.is_some() && state.is_multiple_of(2);
        let last = last.unwrap_or(slot % self.numbers.len() as u32);
        let word = self.word(last);
        let here = Here { id: self.id, state, cpu: last };
        if nested && (word == kept_by(slot) || word == kept_by(slot) | BUSY) {
            here.begin();
            return Some(Turn { cpus: self, how: How::Within, here, outer, _here: PhantomData });
        }
        let mine = kept_by(slot) | if keeps { 0 } else { BUSY };
        let how = if keeps { How::Kept } else { How::Busy };
        let cpu = self.take(last, mine).or_else(|| {
            self.crowd();
            self.take_idle(kept_by(slot) | BUSY)
        })?;
        let how = if self.word(cpu) & BUSY != 0 { How::Busy } else { how };
        let here = Here { cpu, ..here };
        self.remember(here);
        here.begin();
        Some(Turn { cpus: self, how, here, outer, _here: PhantomData })
    }

    fn word(&self, cpu: u32) -> u64 {
        self.numbers.get(cpu as usize).map_or(FREE, |number| number.0.load(Ordering::Acquire))
    }

    fn swap(&self, cpu: u32, old: u64, new: u64) -> bool {
        let swap = |number: &Number| {
            number.0.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        self.numbers.get(cpu as usize).is_some_and(swap)
    }

    /// Takes a free number, or one that the thread keeps: `first` if possible.
    fn take(&self, first: u32, mine: u64) -> Option<u32> {
        let forks = u64::from(FORKS.load(Ordering::Relaxed));
        let takes = |cpu: &u32| {
            let word = self.word(*cpu);
            let is_mine = word == mine & !BUSY;
            (word == FREE || is_mine || word >> 32 != forks) && self.swap(*cpu, word, mine)
        };
        std::iter::once(first).chain(0..self.numbers.len() as u32).find(takes)
    }

    /// From now on numbers are returned after each run.
    fn crowd(&self) {
        let state = self.state.load(Ordering::Acquire);
        if state.is_multiple_of(2) {
            let (new, order) = (state.wrapping_add(1), Ordering::SeqCst);
            let _ = self.state.compare_exchange(state, new, order, Ordering::Relaxed);
        }
    }

    /// Takes a number from a thread that keeps it and is in no run.
    fn take_idle(&self, mine: u64) -> Option<u32> {
        if !epoch::heavy_barrier() {
            return None;
        }
        let takes = |cpu: &u32| {
            let word = self.word(*cpu);
            let is_kept = word != FREE && word & BUSY == 0;
            is_kept && epoch::is_idle(word as u16 - 1) && self.swap(*cpu, word, mine)
        };
        (0..self.numbers.len() as u32).find(takes)
    }

    /// Registers the calling thread with the runtime; returns its last number, or the one to try
    /// first. `None` if it is exiting.
    fn join(self: &Arc<Cpus>, slot: u32) -> Option<u32> {
        let joined = OWNED.try_with(|owned| {
            let mut owned = owned.borrow_mut();
            // Drops entries of runtimes that no longer exist.
            owned.retain(|own| Arc::strong_count(&own.cpus) > 1);
            if let Some(own) = owned.iter().find(|own| own.cpus.id == self.id) {
                return own.cpu;
            }
            let before = self.threads.fetch_add(1, Ordering::AcqRel);
            let cpu = before % self.numbers.len() as u32;
            owned.push(Owned { cpus: self.clone(), slot, cpu });
            cpu
        });
        joined.ok()
    }

    /// Records the calling thread's last number.
    fn remember(&self, here: Here) {
        if LAST.replace(here) == here {
            return;
        }
        let _ = OWNED.try_with(|owned| {
            let mut owned = owned.borrow_mut();
            let own = owned.iter_mut().find(|own| own.cpus.id == self.id);
            own.into_iter().for_each(|own| own.cpu = here.cpu);
        });
    }

    /// A thread has ended, so the remaining ones may all have a number now.
    fn forget_thread(&self) {
        let left = self.threads.fetch_sub(1, Ordering::AcqRel).wrapping_sub(1);
        let state = self.state.load(Ordering::Acquire);
        if state % 2 == 1 && left as usize <= self.numbers.len() {
            let (new, order) = (state.wrapping_add(1), Ordering::SeqCst);
            let _ = self.state.compare_exchange(state, new, order, Ordering::Relaxed);
        }
    }
}

/// Yields, later sleeps, until a number is free: runs are mostly short. Not by
/// `std::thread::sleep`, which panics where the host refuses the system call.
pub fn wait(turns: &mut u32) {
    /// Number of yields before sleeping.
    const YIELDS: u32 = 64;
    const SLEEP: Duration = Duration::from_micros(50);
    *turns = turns.saturating_add(1);
    if *turns < YIELDS { std::thread::yield_now() } else { std::thread::park_timeout(SLEEP) }
}

/// The number of the calling thread's run; outside of runs the one that the thread keeps, or 0.
#[inline(always)]
pub fn current() -> u32 {
    // Helpers ask for it: a word is read without a call.
    thread_word::cpu().unwrap_or_else(|| HERE.get().cpu)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::sync::{Barrier, mpsc};

    fn run<T>(cpus: &Arc<Cpus>, work: impl FnOnce(u32) -> T) -> Option<T> {
        let _epoch = epoch::enter().unwrap();
        let _turn = cpus.enter(false)?;
        Some(work(current()))
    }

    #[test]
    fn threads_keep_their_numbers_and_give_them_back() {
        let (one, two) = (Cpus::new(2), Cpus::new(1));
        assert_eq!(run(&one, |cpu| cpu), Some(0));
        let other = one.clone();
        let second = std::thread::spawn(move || run(&other, |cpu| cpu));
        assert_eq!(second.join().unwrap(), Some(1));
        assert_eq!([&two, &one, &two, &one].map(|cpus| run(cpus, |cpu| cpu)), [Some(0); 4]);
        let again = one.clone();
        assert_eq!(std::thread::spawn(move || run(&again, |cpu| cpu)).join().unwrap(), Some(1));
        assert_eq!(one.state.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn who_does_not_run_gives_its_number_away_and_who_runs_does_not() {
        let cpus = Cpus::new(1);
        assert_eq!(run(&cpus, |cpu| cpu), Some(0));
        let (other, at) = (cpus.clone(), Arc::new(Barrier::new(2)));
        let there = at.clone();
        let second = std::thread::spawn(move || {
            let inside = run(&other, |cpu| {
                there.wait();
                there.wait();
                cpu
            });
            there.wait();
            there.wait();
            inside
        });
        at.wait();
        assert_eq!(run(&cpus, |cpu| cpu), None);
        at.wait();
        at.wait();
        // The other thread exists but does not run a program.
        assert_eq!(run(&cpus, |cpu| cpu), Some(0));
        assert!(HERE.get() == NOWHERE);
        at.wait();
        assert_eq!(second.join().unwrap(), Some(0));
        // It has ended: the number is kept again.
        assert_eq!(run(&cpus, |cpu| cpu), Some(0));
        assert!(HERE.get() != NOWHERE);
    }

    #[test]
    fn a_run_in_a_run_changes_nothing_for_the_outer_one() {
        let (outer, inner) = (Cpus::new(2), Cpus::new(3));
        let other = inner.clone();
        let _epoch = epoch::enter().unwrap();
        let _turn = outer.enter(false).unwrap();
        let (left, wait_left) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let (entered, wait_entered) = mpsc::channel();
            scope.spawn(move || run(&other, |_| (entered.send(()), wait_left.recv())));
            wait_entered.recv().unwrap();
            let within = inner.enter(true).unwrap();
            assert_eq!(current(), 1);
            let again = outer.enter(true).unwrap();
            assert_eq!(current(), 0);
            outer.crowd();
            drop(again);
            assert_eq!(current(), 1);
            drop(within);
            assert_eq!(current(), 0);
            assert_eq!(outer.word(0), kept_by(epoch::slot().unwrap()));
            left.send(()).unwrap();
        });
    }

    /// The thread forgets a runtime that is gone when it meets another, whose numbers are taken.
    #[test]
    fn a_run_keeps_its_number_if_a_run_in_it_gets_none() {
        let (gone, outer, inner) = (Cpus::new(1), Cpus::new(2), Cpus::new(1));
        std::thread::scope(|scope| {
            let (left, wait_left) = mpsc::channel::<()>();
            let (entered, wait_entered) = mpsc::channel();
            let (first, taken) = (outer.clone(), inner.clone());
            scope.spawn(move || {
                let _epoch = epoch::enter().unwrap();
                let _turns = [first.enter(false).unwrap(), taken.enter(true).unwrap()];
                entered.send(()).unwrap();
                wait_left.recv()
            });
            wait_entered.recv().unwrap();
            assert_eq!([&gone, &outer].map(|cpus| run(cpus, |cpu| cpu)), [Some(0), Some(1)]);
            drop(gone);
            let _epoch = epoch::enter().unwrap();
            let _turn = outer.enter(false).unwrap();
            assert_eq!(current(), 1);
            assert!(inner.enter(true).is_none());
            assert_eq!((current(), HERE.get().cpu), (1, 1));
            left.send(()).unwrap();
        });
    }

    #[test]
    fn no_two_runs_have_one_number_however_many_threads_there_are() {
        const THREADS: usize = 7;
        for count in [1, 2, 3] {
            let cpus = Cpus::new(count);
            let taken: Vec<AtomicBool> = (0..count).map(|_| AtomicBool::new(false)).collect();
            std::thread::scope(|scope| {
                for thread in 0..THREADS {
                    let (cpus, taken) = (&cpus, &taken);
                    scope.spawn(move || {
                        let mut left = 2000;
                        while left > 0 {
                            let ran = run(cpus, |cpu| {
                                let taken = &taken[cpu as usize];
                                assert!(!taken.swap(true, Ordering::SeqCst));
                                if left % 64 == thread {
                                    std::thread::yield_now();
                                }
                                taken.store(false, Ordering::SeqCst);
                            });
                            match ran {
                                Some(()) => left -= 1,
                                None => std::thread::yield_now(),
                            }
                        }
                    });
                }
            });
        }
    }
}
