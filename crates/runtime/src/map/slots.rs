//! Slots that refer to maps or programs: a word that readers and machine code load, and the owner
//! of its target.
//!
//! # Invariants
//! 1. A non-zero word belongs to an owner that is in its slot, or in the retire list while a run
//!    may have loaded the word.

use crate::{Errno, Error};
use skep_mem::epoch::RetireList;
use skep_mem::{Budget, Region};
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex, PoisonError};

pub(super) struct Slots<T: ?Sized + Send> {
    words: Region,
    owners: Mutex<Vec<Option<Arc<T>>>>,
    replaced: RetireList<Arc<T>>,
}

impl<T: ?Sized + Send + Sync> Slots<T> {
    pub(super) fn new(count: u32, budget: &Arc<Budget>) -> Result<Slots<T>, Error> {
        let words = Region::zeroed(8 * count as usize, budget).map_err(Error::no_memory)?;
        let mut owners = Vec::new();
        let room = owners.try_reserve_exact(count as usize);
        room.map_err(|_| Error::memory(Errno::ENOMEM.to_string()).because(Errno::ENOMEM))?;
        owners.resize_with(count as usize, || None);
        Ok(Slots { words, owners: Mutex::new(owners), replaced: RetireList::new() })
    }

    /// The word of an existing slot.
    #[inline]
    pub(super) fn word(&self, index: u32) -> u64 {
        self.words.u64(8 * index as usize).load(Acquire)
    }

    /// Address of the first word.
    pub(super) fn base(&self) -> u64 {
        self.words.addr(0)
    }

    pub(super) fn locate(&self, addr: u64, size: usize) -> Option<(&Region, usize)> {
        self.words.locate(addr, size)
    }

    /// What is in a slot.
    pub(super) fn get(&self, index: u32) -> Option<Arc<T>> {
        let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.get(index as usize)?.clone()
    }

    /// Sets or clears an existing slot; returns the old contents, which must be retired.
    pub(super) fn replace(&self, index: u32, new: Option<(Arc<T>, u64)>) -> Option<Arc<T>> {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = owners.get_mut(index as usize)?;
        let (owner, word) = new.map_or((None, 0), |(owner, word)| (Some(owner), word));
        self.words.u64(8 * index as usize).store(word, Release);
        std::mem::replace(slot, owner)
    }

    /// Retires what runs may still use.
    pub(super) fn retire(&self, owner: Arc<T>) {
        self.replaced.retire(owner);
    }

    /// Frees what no run can use any more.
    pub(super) fn settle(&self) {
        self.replaced.settle();
    }

    /// Sets or clears an existing slot; returns whether it was occupied.
    pub(super) fn set(&self, index: u32, new: Option<(Arc<T>, u64)>) -> bool {
        let old = self.replace(index, new);
        old.map(|old| self.retire(old)).is_some()
    }

    /// Clears one of `count` slots, as `BPF_MAP_DELETE_ELEM` does.
    pub(super) fn delete(&self, index: u32, count: u32) -> Result<(), Errno> {
        if index >= count {
            return Err(Errno::E2BIG);
        }
        if self.set(index, None) { Ok(()) } else { Err(Errno::ENOENT) }
    }

    /// Clears all slots; no run is in progress.
    pub(super) fn clear(&self) {
        let count = self.owners.lock().unwrap_or_else(PoisonError::into_inner).len();
        for index in 0..count as u32 {
            self.set(index, None);
        }
        self.replaced.clear();
    }
}
