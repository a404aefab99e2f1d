//! Counts of exited threads, by program; in a child of `fork`, also of threads that do not exist in
//! it.
//!
//! # Invariants
//! 1. All callers hold the lock (`prog_slots`), so each count is seen exactly once.
//!
//! The models compile this file too, with instrumented slots.

use super::StatsSlot;
use super::counts::{self, Counts};
use std::collections::BTreeMap;

/// The slots of one program, by thread number.
pub(crate) trait Slots: Clone {
    fn all(&self) -> &[StatsSlot];
}

/// A program that has counted runs, or may have.
#[derive(Clone)]
struct Entry<S> {
    slots: S,
    /// Counts of exited threads.
    folded: Counts,
}

/// The slots and counts of all programs.
#[derive(Clone)]
pub(crate) struct SlotRegistry<S>(BTreeMap<u64, Entry<S>>);

impl<S: Slots> SlotRegistry<S> {
    pub(crate) const fn new() -> SlotRegistry<S> {
        SlotRegistry(BTreeMap::new())
    }

    /// Registers `slots`, in which something will be counted, unless already known.
    pub(crate) fn open(&mut self, number: u64, slots: &S) {
        let entry = || Entry { slots: slots.clone(), folded: Counts::ZERO };
        self.0.entry(number).or_insert_with(entry);
    }

    pub(crate) fn close(&mut self, number: u64) {
        self.0.remove(&number);
    }

    /// The sum of all threads' counts; `used` of them had a slot.
    pub(crate) fn read(&self, number: u64, used: usize) -> Counts {
        let Some(entry) = self.0.get(&number) else { return Counts::ZERO };
        let mut sum = entry.folded.clone();
        entry.slots.all().iter().take(used).for_each(|slot| sum.add(slot));
        sum
    }

    /// The thread that owns slot `thread` is exiting.
    pub(crate) fn fold(&mut self, thread: u32) {
        for entry in self.0.values_mut() {
            if let Some(slot) = entry.slots.all().get(thread as usize) {
                entry.folded.fold(slot);
            }
        }
    }

    /// In a child of `fork`: only the thread with slot `mine` exists.
    pub(crate) fn fold_others(&mut self, mine: u32, used: usize) {
        for entry in self.0.values_mut() {
            let slots = entry.slots.all().iter().take(used).enumerate();
            for (_, slot) in slots.filter(|(number, _)| *number != mine as usize) {
                counts::settle(slot);
                entry.folded.fold(slot);
            }
        }
    }
}
