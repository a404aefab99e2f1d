//! A mapping between the ids of an old state and those of the current one: one to one, except on
//! kernels where several old ids may map to one.
//!
//! A generation stamp makes a reset O(1): entries of older generations count as absent. The
//! alternative (`Tuning::idmap_reset`) is a table of pairs that is cleared as a whole and searched
//! linearly.
//!
//! # Invariants
//! 1. Between resets, an old id maps to one current id, and a current id is the image of at most
//!    one old id, unless the map is one-way.
//!
//! Kernel: `check_ids`, `struct bpf_idmap` (6.18).

use crate::tuning::IdmapReset;

/// The mapping.
pub(crate) struct IdMap {
    pairs: Pairs,
    /// Whether several old ids may map to one.
    one_way: bool,
    /// Last id assigned when the map was emptied.
    id_gen: u32,
    tmp_id_gen: u32,
    is_empty: bool,
}

enum Pairs {
    Stamped(Stamped),
    Cleared(Box<[(u32, u32); BPF_ID_MAP_SIZE]>),
}

/// Registers and stack slots of a maximal call chain: the number of ids that can be compared.
const BPF_ID_MAP_SIZE: usize = (11 + 64) * 8;

/// Pairs of all generations, by either id. Open addressing; entries of older generations count as
/// empty.
struct Stamped {
    generation: u32,
    /// Number of pairs of this generation.
    used: usize,
    /// By the old id, and by the current one.
    sides: [Box<[Entry]>; 2],
}

/// `id` corresponds to `other` in `generation`.
#[derive(Clone, Copy, Default)]
struct Entry {
    generation: u32,
    id: u32,
    other: u32,
}

const LEN_MIN: usize = 16;
const OLD: usize = 0;
const CUR: usize = 1;

impl IdMap {
    /// `one_way`: several old ids may map to one current id.
    pub(crate) fn new(reset: IdmapReset, one_way: bool) -> IdMap {
        let pairs = match reset {
            IdmapReset::Counter => Pairs::Stamped(Stamped::new()),
            IdmapReset::Memset => Pairs::Cleared(Box::new([(0, 0); BPF_ID_MAP_SIZE])),
        };
        IdMap { pairs, one_way, id_gen: 0, tmp_id_gen: 0, is_empty: true }
    }

    /// Removes all pairs; `id_gen` is the last id assigned, above which temporary ids are
    /// allocated.
    pub(crate) fn reset(&mut self, id_gen: u32) {
        self.id_gen = id_gen;
        self.tmp_id_gen = id_gen;
        self.is_empty = true;
        match &mut self.pairs {
            Pairs::Stamped(stamped) => stamped.reset(),
            Pairs::Cleared(pairs) => pairs.fill((0, 0)),
        }
    }

    /// Removes the pairs added since the reset.
    pub(crate) fn undo(&mut self) {
        if !self.is_empty {
            self.reset(self.id_gen);
        }
    }

    /// Whether `old` may correspond to `cur`: both are 0, or the pair is consistent with all
    /// earlier pairs.
    #[inline]
    pub(crate) fn check_ids(&mut self, old: u32, cur: u32) -> bool {
        if (old == 0) != (cur == 0) {
            return false;
        }
        if old == 0 {
            return true;
        }
        self.is_empty = false;
        match &mut self.pairs {
            Pairs::Stamped(stamped) => stamped.check(old, cur, self.one_way),
            Pairs::Cleared(pairs) => check_from_start(&mut pairs[..], old, cur, self.one_way),
        }
    }

    /// The same for scalars, for which having no id is like having a unique one.
    pub(crate) fn check_scalar_ids(&mut self, old: u32, cur: u32) -> bool {
        let old = if old == 0 { self.temporary() } else { old };
        let cur = if cur == 0 { self.temporary() } else { cur };
        self.check_ids(old, cur)
    }

    fn temporary(&mut self) -> u32 {
        self.is_empty = false;
        self.tmp_id_gen += 1;
        self.tmp_id_gen
    }

    /// Bytes allocated.
    pub(crate) fn bytes(&self) -> u64 {
        let bytes = match &self.pairs {
            Pairs::Stamped(s) => s.sides.iter().map(|side| size_of_val(&side[..])).sum(),
            Pairs::Cleared(pairs) => size_of_val(&pairs[..]),
        };
        bytes as u64
    }
}

/// Searches for either id up to an empty place, in which the pair is stored.
fn check_from_start(pairs: &mut [(u32, u32)], old: u32, cur: u32, one_way: bool) -> bool {
    for pair in pairs {
        if pair.0 == 0 {
            *pair = (old, cur);
            return true;
        }
        if pair.0 == old {
            return pair.1 == cur;
        }
        if pair.1 == cur && !one_way {
            return false;
        }
    }
    // Full, which cannot happen with this many registers and slots; then states do not match.
    false
}

impl Stamped {
    fn new() -> Stamped {
        Stamped { generation: 1, used: 0, sides: [Self::empty(LEN_MIN), Self::empty(LEN_MIN)] }
    }

    fn empty(len: usize) -> Box<[Entry]> {
        vec![Entry::default(); len].into()
    }

    #[inline]
    fn reset(&mut self) {
        self.used = 0;
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.sides.iter_mut().for_each(|side| side.fill(Entry::default()));
            self.generation = 1;
        }
    }

    fn check(&mut self, old: u32, cur: u32, one_way: bool) -> bool {
        match (self.find(OLD, old), self.find(CUR, cur)) {
            (Ok(known), _) => known == cur,
            (_, Ok(_)) if !one_way => false,
            (Err(o), c) => {
                let generation = self.generation;
                self.sides[OLD][o] = Entry { generation, id: old, other: cur };
                if let Err(c) = c {
                    self.sides[CUR][c] = Entry { generation, id: cur, other: old };
                }
                self.used += 1;
                if self.used * 2 > self.sides[OLD].len() {
                    self.grow();
                }
                true
            }
        }
    }

    /// What `id` corresponds to, or the place at which to insert it.
    #[inline]
    fn find(&self, side: usize, id: u32) -> Result<u32, usize> {
        let entries = &self.sides[side];
        let mask = entries.len() - 1;
        let mut at = id.wrapping_mul(0x9e37_79b9) as usize >> 16 & mask;
        loop {
            let entry = &entries[at];
            if entry.generation != self.generation {
                return Err(at);
            }
            if entry.id == id {
                return Ok(entry.other);
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        for side in [OLD, CUR] {
            let doubled = Self::empty(self.sides[side].len() * 2);
            let old = std::mem::replace(&mut self.sides[side], doubled);
            for entry in old.iter().filter(|entry| entry.generation == self.generation) {
                if let Err(place) = self.find(side, entry.id) {
                    self.sides[side][place] = *entry;
                }
            }
        }
    }
}
