//! Actions requested by a run, recorded for the embedder. The list is bounded, because a program
//! can request arbitrarily many.

use skep_mem::{Budget, Share};
use std::sync::Arc;

/// Maximum size of one list of a run, in bytes.
const BYTES_MAX: usize = 16 << 20;
/// Number of items for which capacity is kept between runs.
const KEPT: usize = 1024;

/// A list of a run.
pub(crate) struct Recorded<T> {
    items: Vec<T>,
    bytes: usize,
    lost: u64,
    /// Charged to the runtime's budget, which it shares with maps.
    share: Option<Share>,
}

impl<T> Default for Recorded<T> {
    fn default() -> Recorded<T> {
        Recorded { items: Vec::new(), bytes: 0, lost: 0, share: None }
    }
}

impl<T: Clone> Recorded<T> {
    /// Adds an item with this many bytes elsewhere; returns false if there is no room, and the item
    /// is dropped.
    pub(crate) fn push(&mut self, item: T, bytes: usize, budget: &Arc<Budget>) -> bool {
        // A vector may have capacity for twice as many items.
        let bytes = bytes + 2 * size_of::<T>();
        let share = self.share.get_or_insert_with(|| Share::new(budget));
        if self.bytes + bytes > BYTES_MAX || !share.grow(bytes) {
            self.lost += 1;
            return false;
        }
        self.bytes += bytes;
        self.items.push(item);
        true
    }

    pub(crate) fn items(&self) -> Vec<T> {
        self.items.clone()
    }

    /// How many found no room.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.items.clear();
        self.items.shrink_to(KEPT);
        (self.bytes, self.lost, self.share) = (0, 0, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_takes_no_more_than_it_may() {
        let budget = Budget::new(usize::MAX);
        let mut list = Recorded::default();
        let all = (0..20_000u64).filter(|n| list.push(*n, 1500, &budget)).count();
        assert_eq!((all, list.lost()), (BYTES_MAX / 1516, 20_000 - all as u64));
        assert_eq!(budget.used_bytes(), 1516 * all);
        list.clear();
        assert_eq!((list.items().len(), list.lost(), budget.used_bytes()), (0, 0, 0));
        let small = Budget::new(4000);
        assert_eq!([0; 3].map(|n| list.push(n, 1500, &small)), [true, true, false]);
        drop(list);
        assert_eq!(small.used_bytes(), 0);
    }
}
