//! A retire list: what was taken out of a map while runs may still use it, kept until they end.

use crate::epoch;
use std::sync::Mutex;

/// How many retired items make it worth looking whether some are free.
const LOOK_AT: usize = 16;

/// Items to drop once no run can use them, at the latest with their map.
pub(crate) struct RetireList<T>(Mutex<Vec<(u64, T)>>);

impl<T> RetireList<T> {
    pub(crate) fn new() -> RetireList<T> {
        RetireList(Mutex::new(Vec::new()))
    }

    /// Drops everything; no current run can use it.
    pub(super) fn clear(&self) {
        let Ok(mut retired) = self.0.lock() else { return };
        let all = std::mem::take(&mut *retired);
        drop(retired);
        drop(all);
    }

    /// Takes `item`, and drops it once no run can use it.
    pub(crate) fn retire(&self, item: T) {
        let tag = epoch::tag();
        let Ok(mut retired) = self.0.lock() else { return };
        retired.push((tag, item));
        if retired.len() < LOOK_AT {
            return;
        }
        if !epoch::is_held_here(retired[0].0) {
            epoch::advance();
        }
        let free: Vec<_> = retired.extract_if(.., |(tag, _)| epoch::is_free(*tag)).collect();
        drop(retired);
        // What goes may hold other maps, and take their locks.
        drop(free);
    }
}
