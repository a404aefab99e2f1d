//! The per-thread slots of one program, and the process-wide registry of all programs' slots and of
//! the counts of exited threads.
//!
//! # Invariants
//! 1. Reading a program's slots, and folding one, is done under the registry's lock: each count is
//!    seen exactly once.
//! 2. The forking thread holds the registry's lock and the gate across `fork`, acquiring the gate
//!    first: a child finds them consistent, and unlocked.

#![allow(unsafe_code)]

use super::counts::Counts;
use super::slot_registry::{SlotRegistry, Slots};
use crate::Error;
use skep_jit::stats::StatsSlot;
use skep_mem::epoch::{self, THREADS_MAX, Watcher};
use skep_mem::thread_word::SLOT_BYTES;
use skep_mem::{Budget, Region};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Registry = SlotRegistry<Arc<Region>>;

static REGISTRY: Mutex<Registry> = Mutex::new(SlotRegistry::new());

impl Slots for Arc<Region> {
    fn all(&self) -> &[StatsSlot] {
        stats_slots(self)
    }
}

/// A region of slots.
fn stats_slots(region: &Region) -> &[StatsSlot] {
    // What a thread's word counts in.
    const { assert!(size_of::<StatsSlot>() == SLOT_BYTES) };
    // SAFETY: it is made of atomics.
    unsafe { region.all() }
}

static GATE: Mutex<()> = Mutex::new(());

/// While held, statistics requests cannot be changed or read.
pub(crate) fn gate() -> MutexGuard<'static, ()> {
    GATE.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    /// Held while this thread forks.
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

struct Held {
    registry: MutexGuard<'static, Registry>,
    _gate: MutexGuard<'static, ()>,
}

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A slot for each thread that may run programs.
pub(super) struct ProgSlots {
    number: u64,
    /// Pages are only committed when a thread counts in them.
    slots: Arc<Region>,
    is_open: AtomicBool,
}

/// The number of the next program.
static NEXT: AtomicU64 = AtomicU64::new(0);

impl ProgSlots {
    pub(super) fn new() -> Result<ProgSlots, Error> {
        let bytes = THREADS_MAX * size_of::<StatsSlot>();
        let slots = Arc::new(
            Region::zeroed(bytes, &Budget::new(usize::MAX)).map_err(Error::no_memory)?.sparse(),
        );
        watch();
        epoch::watch_runs();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(ProgSlots { number, slots, is_open: AtomicBool::new(false) })
    }

    /// Something will be counted. Until then exiting threads need not look at the slots.
    pub(super) fn open(&self) {
        if self.is_open.load(Ordering::Acquire) {
            return;
        }
        registry().open(self.number, &self.slots);
        self.is_open.store(true, Ordering::Release);
    }

    /// Address of the first slot.
    pub(super) fn address(&self) -> u64 {
        self.slots.addr(0)
    }

    /// The calling thread's slot, if it has one.
    pub(super) fn slot(&self) -> Option<&StatsSlot> {
        stats_slots(&self.slots).get(epoch::slot()? as usize)
    }

    /// What all threads have counted.
    pub(super) fn read(&self) -> Counts {
        let registry = registry();
        registry.read(self.number, epoch::slots_used())
    }
}

impl Drop for ProgSlots {
    fn drop(&mut self) {
        if self.is_open.load(Ordering::Acquire) {
            registry().close(self.number);
        }
    }
}

/// At thread exit, and around `fork`.
static WATCHER: Watcher = Watcher {
    ends: fold,
    before_fork: hold,
    in_parent: release,
    in_child: fold_others,
    ..Watcher::NONE
};

/// From now on, counts are folded when threads exit, and the gate is held when the process forks.
pub(super) fn watch() {
    epoch::add_watcher(&WATCHER);
}

/// The thread that owns slot `number` is exiting.
fn fold(number: u32) {
    registry().fold(number);
}

/// Before `fork`.
fn hold() {
    let _ = HELD.try_with(|held| {
        let gate = gate();
        held.replace(Some(Held { registry: registry(), _gate: gate }))
    });
}

/// After it, in the parent.
fn release() {
    let _ = HELD.try_with(RefCell::take);
}

/// After it, in the child: only the thread with slot `mine` exists.
fn fold_others(mine: u32) {
    let held = HELD.try_with(RefCell::take).ok().flatten();
    let Some(Held { mut registry, .. }) = held else { return };
    registry.fold_others(mine, epoch::slots_used());
}
