//! Ids and ranges of packet pointers. A comparison with the end of the packet gives all copies of a
//! pointer the same range, so the range is interned with the id, not with the value: the copies,
//! whatever their offsets, keep their values and get one new name for id and range.
//!
//! # Invariants
//! 1. Different pairs of id and range have different names; without a range, the id is its own
//!    name.

use crate::memory::{capacity_bytes, push_tight};
use rustc_hash::FxHashMap;

/// Flag in the name of a pair; the rest is an index. Ids never get this large, and the flags of
/// scalars are higher bits.
const RANGED: u32 = 1 << 29;
const FLAGS: u32 = 0b111 << 29;

/// All pairs.
#[derive(Default)]
pub(super) struct Ranges {
    pairs: Vec<(u32, i32)>,
    names: FxHashMap<(u32, i32), u32>,
    /// The name returned last: copies are named one after the other.
    last: u32,
}

impl Ranges {
    /// The name of a pair.
    pub(super) fn name(&mut self, id: u32, range: i32) -> u32 {
        if range == 0 {
            return id;
        }
        if self.pairs.get((self.last & !FLAGS) as usize) != Some(&(id, range)) {
            let pairs = &mut self.pairs;
            let named = self.names.entry((id, range));
            self.last = *named.or_insert_with(|| RANGED | push_tight(pairs, (id, range)));
        }
        self.last
    }

    /// The pair of that name.
    #[inline]
    pub(super) fn pair(&self, name: u32) -> (u32, i32) {
        if has_range(name) { self.looked_up(name) } else { (name, 0) }
    }

    /// Rare: a packet pointer with a range.
    #[cold]
    fn looked_up(&self, name: u32) -> (u32, i32) {
        self.pairs[(name & !FLAGS) as usize]
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        let names = self.names.capacity() * size_of::<((u32, i32), u32)>();
        capacity_bytes(&self.pairs) + names as u64
    }
}

/// Whether the name stands for a pair of id and range.
#[inline]
pub(super) fn has_range(name: u32) -> bool {
    name & FLAGS == RANGED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_have_names() {
        let mut ranges = Ranges::default();
        assert_eq!(ranges.name(7, 0), 7);
        let pairs = [(0, 8), (7, 8), (7, -1), (0, 0x1_0000)];
        let names = pairs.map(|(id, range)| ranges.name(id, range));
        assert_eq!(names.map(|name| ranges.pair(name)), pairs);
        assert_eq!(ranges.name(7, -1), names[2]);
        assert!(!has_range(1 << 31 | 5) && ranges.pair(1 << 30 | 5) == (1 << 30 | 5, 0));
    }
}
