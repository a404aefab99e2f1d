//! What was taken out of a map while runs may still use it: kept until they have ended.

use crate::epoch;
use std::sync::Mutex;

/// Buried things that are enough to look whether some may go.
const LOOK_AT: usize = 16;

/// Things that are dropped when no run can use them any more, at the latest with their map.
pub(crate) struct Graveyard<T>(Mutex<Vec<(u64, T)>>);

impl<T> Graveyard<T> {
    pub(crate) fn new() -> Graveyard<T> {
        Graveyard(Mutex::new(Vec::new()))
    }

    /// Drops everything; no run goes on that could use it.
    pub(super) fn empty(&self) {
        let Ok(mut buried) = self.0.lock() else { return };
        let all = std::mem::take(&mut *buried);
        drop(buried);
        drop(all);
    }

    /// Keeps `item` as long as a run may use it.
    pub(crate) fn bury(&self, item: T) {
        let tag = epoch::tag();
        let Ok(mut buried) = self.0.lock() else { return };
        buried.push((tag, item));
        if buried.len() < LOOK_AT {
            return;
        }
        if !epoch::is_held_here(buried[0].0) {
            epoch::advance();
        }
        let free: Vec<_> = buried.extract_if(.., |(tag, _)| epoch::is_free(*tag)).collect();
        drop(buried);
        // What goes may hold other maps, and take their locks.
        drop(free);
    }
}
