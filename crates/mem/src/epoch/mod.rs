//! Epoch-based reclamation: when unlinked memory may be reused, because no run that could have seen
//! it is in progress.
//!
//! Each thread owns a slot. Entering a run stores the global epoch there, leaving it stores 0:
//! plain stores, no atomic read-modify-write. Reclamation ([`advance`]) pays instead: it makes all
//! threads' stores visible (`membarrier`) and reads the slots.
//!
//! # Invariants
//! 1. A slot with an epoch belongs to a living thread in a run (or in an access by a user of a
//!    map), which reads no link from before the global epoch had that value.
//! 2. Memory unlinked and tagged `e` is unreachable for every run with an epoch above `e + 1`:
//!    between the epochs is a barrier on all threads, after which the unlinking is visible.
//!
//! 3. A section that a thread entered because it was alone (`begin_lone`: a few nanoseconds with
//!    a lock) is over before a second thread enters its first run: registering a thread waits for
//!    that.
//! 4. If the host denies a barrier, nothing is freed.
//!
//! Other modules also keep data by slot: a thread's counters, its CPU number. They are notified
//! when a thread exits, before its slot is free, and of `fork` ([`Watcher`]).
//!
//! In a child of `fork`, all slots except its thread's are free: no other thread exists.

#![allow(unsafe_code)]

mod barriers;
mod local;
mod protocol;
mod retire_list;

pub use barriers::{heavy_barrier, slots_used};
pub use local::slot;
pub use retire_list::RetireList;

use crate::barrier;
use crate::fork::{self, Hooks};
use crate::registered::Registered;
use crate::thread_word;
use barriers::{SLOTS_USED, has_membarrier, register_again, try_heavy_barrier};
use local::{LOCAL, Local, UNREGISTERED};
use protocol::{Epochs, IDLE, Slot};
use rustix::io::Errno;
use std::cell::Cell;
use std::sync::atomic::{self, AtomicBool, AtomicU32, AtomicU64, Ordering, fence};

/// Maximum number of threads that run programs at the same time, and of CPUs of a runtime.
pub const THREADS_MAX: usize = 4096;

/// Pages are only committed when a thread takes a slot there.
static SLOTS: [Slot; THREADS_MAX] = [const {
    Slot {
        epoch: AtomicU64::new(IDLE),
        taken: AtomicBool::new(false),
        lone: AtomicBool::new(false),
    }
}; THREADS_MAX];
static EPOCHS: Epochs = Epochs { global: AtomicU64::new(1), oldest: AtomicU64::new(1) };

/// A second thread has registered while the first existed.
static CROWDED: AtomicBool = AtomicBool::new(false);
/// No thread acts as if it were alone any more.
static SETTLED: AtomicBool = AtomicBool::new(false);

/// Number of threads that are returning their slots, which takes as long as folding them.
static LEAVING: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// Returns the slot when the thread exits; touched once, when it is taken.
    static OWNED: OwnedSlot = const { OwnedSlot(Cell::new(UNREGISTERED)) };
    /// The same for code that runs in later destructors.
    static SPARE: OwnedSlot = const { OwnedSlot(Cell::new(UNREGISTERED)) };
}

struct OwnedSlot(Cell<u32>);

impl Drop for OwnedSlot {
    fn drop(&mut self) {
        // Code that runs later in this thread, in other destructors, takes a slot of its own.
        LOCAL.with(|local| local.slot.set(UNREGISTERED));
        if let Some(slot) = SLOTS.get(self.0.get() as usize) {
            // Other threads need not wait for its number while its slot is being folded.
            watchers().for_each(|watcher| (watcher.leaves)());
            // Before the slot can belong to another thread.
            LEAVING.fetch_add(1, Ordering::AcqRel);
            watchers().for_each(|watcher| (watcher.ends)(self.0.get()));
            slot.give_back();
            LEAVING.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Functions of a module that keeps data by slot.
#[derive(Debug)]
pub struct Watcher {
    /// The calling thread ends; its slot is still its own.
    pub leaves: fn(),
    /// The thread that owns this slot ends: others wait for it to be free.
    pub ends: fn(u32),
    /// Before `fork`, in the thread that forks.
    pub before_fork: fn(),
    /// After it, in the parent.
    pub in_parent: fn(),
    /// After it, in the child: only the thread with this slot came along.
    pub in_child: fn(u32),
}

impl Watcher {
    /// Does nothing.
    pub const NONE: Watcher = Watcher {
        leaves: || (),
        ends: |_| (),
        before_fork: || (),
        in_parent: || (),
        in_child: |_| (),
    };
}

static WATCHERS: Registered<Watcher> = Registered::new();

/// Adds `watcher`, unless it is there already.
pub fn add_watcher(watcher: &'static Watcher) {
    WATCHERS.add(watcher);
}

fn watchers() -> impl Iterator<Item = &'static Watcher> {
    WATCHERS.iter()
}

/// A thread is in a run until this is dropped.
#[derive(Debug)]
pub struct Guard {
    /// Not `Send`: it belongs to this thread's slot.
    _here: std::marker::PhantomData<*const ()>,
}

/// Why a thread cannot run programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSlot {
    /// [`THREADS_MAX`] threads run programs.
    TooMany,
    /// The process is a child of `fork` that has no machine code.
    Lost,
    /// The first thread cannot be notified that there is a second one.
    Barrier(Errno),
    /// The thread is exiting: the slot would not be returned.
    Ending,
}

impl std::fmt::Display for NoSlot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NoSlot::TooMany => write!(f, "more than {THREADS_MAX} threads are running programs"),
            NoSlot::Lost => {
                write!(f, "no machine code in this forked child: the host denied the memory")
            }
            NoSlot::Barrier(errno) => {
                write!(f, "no second thread can run programs: membarrier is now denied: {errno}")
            }
            NoSlot::Ending => write!(f, "the thread is exiting"),
        }
    }
}

impl std::error::Error for NoSlot {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            NoSlot::Barrier(errno) => Some(errno),
            NoSlot::TooMany | NoSlot::Lost | NoSlot::Ending => None,
        }
    }
}

/// Enters a run; runs of one thread may nest.
#[inline]
pub fn enter() -> Result<Guard, NoSlot> {
    LOCAL.with(|local| {
        if local.slot.get() == UNREGISTERED {
            local.slot.set(register()?);
        }
        let depth = local.depth.get();
        if depth == 0 {
            SLOTS[local.slot.get() as usize].enter(&EPOCHS);
            if !has_membarrier() {
                fetch_anew(local);
            }
            local.began_alone.set(!CROWDED.load(Ordering::Relaxed));
        }
        local.depth.set(depth + 1);
        Ok(Guard { _here: std::marker::PhantomData })
    })
}

/// Ensures that no insn fetched before is executed after it, if code may have been replaced:
/// without barriers each thread has to do that itself.
fn fetch_anew(local: &Local) {
    let generation = GENERATION.load(Ordering::Acquire);
    if local.generation.replace(generation) != generation {
        #[cfg(target_arch = "x86_64")]
        std::hint::black_box(std::arch::x86_64::__cpuid(0));
    }
}

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        LOCAL.with(|local| {
            let depth = local.depth.get() - 1;
            local.depth.set(depth);
            if depth == 0 {
                local.began_alone.set(false);
                SLOTS[local.slot.get() as usize].leave();
            }
        });
    }
}

/// What [`begin_lone`] found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lone {
    /// The thread is not alone.
    No,
    /// It is, until [`end_lone`].
    Begun,
    /// It is alone, and already in such a section.
    Within,
}

/// Begins a section if the calling thread is in a run and no other thread is, or can be before
/// [`end_lone`]. New threads wait for its end, so it must be short.
#[inline(always)]
pub(crate) fn begin_lone() -> Lone {
    LOCAL.with(|local| {
        if !local.began_alone.get() {
            return Lone::No;
        }
        if local.lone.get() {
            return Lone::Within;
        }
        if !SLOTS[local.slot.get() as usize].begin_lone(&CROWDED) {
            local.began_alone.set(false);
            return Lone::No;
        }
        local.lone.set(true);
        Lone::Begun
    })
}

/// Ends the current section.
#[inline(always)]
pub(crate) fn end_lone() {
    // As little as possible inside: what may panic there becomes a function of its own.
    let slot = LOCAL.with(|local| {
        local.lone.set(false);
        local.slot.get()
    });
    SLOTS[slot as usize].end_lone();
}

/// Whether the calling thread is in a section started by `begin_lone`.
#[inline(always)]
pub fn is_lone() -> bool {
    LOCAL.with(|local| local.lone.get())
}

/// Whether `begin_lone` may succeed.
#[inline(always)]
pub fn may_be_alone() -> bool {
    LOCAL.with(|local| local.began_alone.get())
}

fn used_slots() -> &'static [Slot] {
    &SLOTS[..slots_used()]
}

/// The tag for memory unlinked now.
#[inline]
pub fn tag() -> u64 {
    EPOCHS.tag()
}

/// Whether memory with this tag may be reused, as far as is known.
#[inline]
pub fn is_free(tag: u64) -> bool {
    EPOCHS.is_free(tag)
}

/// Whether this thread's own run keeps memory with this tag: [`advance`] would not help.
#[inline]
pub fn is_held_here(tag: u64) -> bool {
    LOCAL.with(|local| {
        let slot = SLOTS.get(local.slot.get() as usize);
        let epoch = slot.map_or(IDLE, |slot| slot.epoch.load(Ordering::Relaxed));
        local.depth.get() > 0 && epoch <= tag + 1
    })
}

/// Checks which runs are in progress; afterwards [`is_free`] knows more.
pub fn advance() {
    while ADVANCING.swap(true, Ordering::Acquire) {
        std::thread::yield_now();
    }
    EPOCHS.look(used_slots);
    ADVANCING.store(false, Ordering::Release);
}

/// Whether the thread with this slot is in no run. After a barrier: one that it begins later sees
/// what was written before that.
#[inline]
pub fn is_idle(slot: u16) -> bool {
    SLOTS.get(slot as usize).is_none_or(|slot| slot.epoch.load(Ordering::Acquire) == IDLE)
}

/// Whether the calling thread is in a run.
#[inline]
pub fn is_in_run() -> bool {
    LOCAL.with(|local| local.depth.get() > 0)
}

/// Whether no run seems to be in progress, so that memory retired now may be free soon. A run that
/// has just begun may be missed.
pub fn is_quiet() -> bool {
    !is_in_run() && used_slots().iter().all(|slot| slot.epoch.load(Ordering::Relaxed) == IDLE)
}

/// Incremented before code is placed where other code was, on a host that refuses to synchronise
/// instruction streams. A thread that begins a run and has not seen the new number serialises its
/// own: it announces the run, executes a fence, then reads the number.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Whether code may be placed where other code was: no thread that runs programs has any of it in
/// its pipeline, now or later.
pub fn may_replace_code() -> bool {
    if barrier::synchronising_is_refused().is_none() {
        return barrier::synchronise().is_ok();
    }
    GENERATION.fetch_add(1, Ordering::SeqCst);
    // Threads that execute code outside of runs are not seen.
    ARE_KNOWN.load(Ordering::Acquire) && nobody_runs()
}

/// Whether no run is in progress; one that begins now sees what the caller wrote before.
fn nobody_runs() -> bool {
    fence(Ordering::SeqCst);
    is_quiet()
}

/// Result of [`wait_for_runs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// The runs have ended.
    Ended,
    /// The calling thread is in a run itself.
    InRun,
    /// The host refuses barriers.
    Refused,
}

/// Waits until all runs in progress have ended.
pub fn wait_for_runs() -> Waited {
    if is_in_run() {
        return Waited::InRun;
    }
    let begun = tag();
    advance();
    while !is_free(begun) {
        if !heavy_barrier() {
            return Waited::Refused;
        }
        std::thread::yield_now();
        advance();
    }
    Waited::Ended
}

/// A thread is in [`advance`]; nothing in it panics.
static ADVANCING: AtomicBool = AtomicBool::new(false);

/// From now on code is executed in runs only: a thread in no run executes no code that is replaced.
static ARE_KNOWN: AtomicBool = AtomicBool::new(false);

/// Declares that code is executed in runs only.
pub fn watch_runs() {
    watch_forks();
    ARE_KNOWN.store(true, Ordering::Release);
}

/// Keeps the slots of threads, and data by slot, right in children of `fork`.
pub fn watch_forks() {
    // No thread waits for the first: see `has_membarrier`.
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if WATCHED.load(Ordering::Acquire) {
        return;
    }
    // The child finds the result already known.
    has_membarrier();
    static HOOKS: Hooks = Hooks {
        before: || watchers().for_each(|watcher| (watcher.before_fork)()),
        in_parent: || watchers().for_each(|watcher| (watcher.in_parent)()),
        in_child: forget_other_threads,
    };
    fork::add_hooks(&HOOKS);
    WATCHED.store(true, Ordering::Release);
}

/// In a child: only the thread that called `fork` exists.
fn forget_other_threads() {
    let mine = LOCAL.with(|local| match fork::is_lost() {
        // Each run has to request a slot, which is refused.
        true => local.slot.replace(UNREGISTERED),
        false => local.slot.get(),
    });
    // Before their slots can belong to other threads.
    watchers().for_each(|watcher| (watcher.in_child)(mine));
    let used = used_slots().iter().enumerate();
    let others = used.filter(|(index, _)| *index != mine as usize);
    for (_, slot) in others {
        slot.epoch.store(IDLE, Ordering::Relaxed);
        slot.lone.store(false, Ordering::Relaxed);
        slot.taken.store(false, Ordering::Relaxed);
    }
    ADVANCING.store(false, Ordering::Release);
    LEAVING.store(0, Ordering::Release);
    register_again();
}

/// Takes a slot; if there is none, waits for threads that are returning theirs.
fn free_slot() -> Option<usize> {
    loop {
        let leaving = LEAVING.load(Ordering::Acquire) > 0;
        // Slots in use are only read, because their threads write there.
        let takes = |slot: &Slot| !slot.taken.load(Ordering::Relaxed) && slot.take();
        let found = SLOTS.iter().position(takes);
        if found.is_some() || !leaving {
            return found;
        }
        std::thread::yield_now();
    }
}

#[cold]
fn register() -> Result<u32, NoSlot> {
    if fork::is_lost() {
        return Err(NoSlot::Lost);
    }
    let index = free_slot().ok_or(NoSlot::TooMany)? as u32;
    SLOTS_USED.fetch_max(index + 1, Ordering::SeqCst);
    // SAFETY: the slots of programs are as many as those here, of which this thread has taken one.
    unsafe { thread_word::set(u64::from(index) * thread_word::SLOT_BYTES as u64) };
    watch_runs();
    let kept = leave_nobody_alone(index).and_then(|()| {
        let owned = OWNED.try_with(|owned| owned.0.set(index));
        let owned = owned.or_else(|_| SPARE.try_with(|owned| owned.0.set(index)));
        owned.map_err(|_| NoSlot::Ending)
    });
    if kept.is_err() {
        SLOTS[index as usize].give_back();
    }
    kept.map(|()| index)
}

/// Once a thread has taken slot `mine` it may run programs: another existing thread is no longer
/// alone.
fn leave_nobody_alone(mine: u32) -> Result<(), NoSlot> {
    // If two threads register at once, one sees the other.
    fence(Ordering::SeqCst);
    let taken =
        |(at, slot): (usize, &Slot)| at != mine as usize && slot.taken.load(Ordering::SeqCst);
    let has_company = CROWDED.load(Ordering::SeqCst) || used_slots().iter().enumerate().any(taken);
    if !has_company || SETTLED.load(Ordering::Acquire) {
        return Ok(());
    }
    while !protocol::crowd(&CROWDED, used_slots(), std::thread::yield_now) {
        try_heavy_barrier().map_err(NoSlot::Barrier)?;
    }
    SETTLED.store(true, Ordering::Release);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn what_a_run_may_hold_is_not_free_until_it_ends() {
        let (entered, wait_entered) = mpsc::channel();
        let (leave, wait_leave) = mpsc::channel::<()>();
        let runner = std::thread::spawn(move || {
            let guard = enter().unwrap();
            entered.send(()).unwrap();
            wait_leave.recv().unwrap();
            drop(guard);
        });
        wait_entered.recv().unwrap();
        let tag = tag();
        advance();
        advance();
        assert!(!is_free(tag) && !is_held_here(tag));
        leave.send(()).unwrap();
        runner.join().unwrap();
        // Runs of other tests end, too.
        assert!((0..10_000).any(|_| {
            std::thread::yield_now();
            advance();
            is_free(tag)
        }));
    }

    #[test]
    fn nested_runs_are_one() {
        let outer = enter().unwrap();
        let tag = tag();
        drop(enter().unwrap());
        assert!(is_held_here(tag));
        drop(outer);
        assert!(!is_held_here(tag));
    }
}
