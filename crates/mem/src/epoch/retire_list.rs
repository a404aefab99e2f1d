//! A retire list: items removed from a map, or freed objects, that current runs may still use, kept
//! until those runs end.

use crate::epoch;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Number of retired items from which on it is worth checking whether some are free.
const LOOK_AT: usize = 16;

/// Items to drop once no run can use them, at the latest with their map. No destructor of an item
/// runs while the list is locked.
#[derive(Debug)]
pub struct RetireList<T>(Mutex<Vec<(u64, T)>>);

impl<T> Default for RetireList<T> {
    fn default() -> RetireList<T> {
        RetireList::new()
    }
}

impl<T> RetireList<T> {
    /// An empty list.
    pub fn new() -> RetireList<T> {
        RetireList(Mutex::new(Vec::new()))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(u64, T)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops everything; no current run can use it.
    pub fn clear(&self) {
        let all = std::mem::take(&mut *self.lock());
        drop(all);
    }

    /// Takes `item`, and drops it once no run can use it: now if no run seems to be in progress,
    /// otherwise when there are many, or at the next [`RetireList::settle`].
    pub fn retire(&self, item: T) {
        let tag = epoch::tag();
        let mut retired = self.lock();
        retired.push((tag, item));
        // During a long run, not all of them are checked again for each new one.
        let many = retired.len() >= LOOK_AT && retired.len().is_power_of_two();
        drop(retired);
        if many || epoch::is_quiet() {
            self.settle();
        }
    }

    /// Drops the items that no run can use any more, unless another thread is doing so.
    pub fn settle(&self) {
        let Ok(mut retired) = self.0.try_lock() else { return };
        let Some((oldest, _)) = retired.first() else { return };
        // What this run itself keeps alive stays until it ends, and so does everything younger.
        if epoch::is_held_here(*oldest) {
            return;
        }
        epoch::advance();
        let free: Vec<_> = retired.extract_if(.., |(tag, _)| epoch::is_free(*tag)).collect();
        drop(retired);
        // Dropped items may own other maps, and take their locks.
        drop(free);
    }
}
