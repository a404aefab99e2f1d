//! Ids of an old state matched with ids of the current one, one to one.
//!
//! A generation stamp makes a reset O(1): entries of older generations count as absent. The older
//! way (`Tuning::idmap_reset`) is a table of pairs that is cleared whole and searched from its
//! start.
//!
//! # Invariants
//! 1. Between resets, an old id maps to one current id, and a current id is the image of at most
//!    one old id.
//!
//! Kernel: `check_ids`, `struct bpf_idmap` (6.18).

use crate::tuning::IdmapReset;
use rustc_hash::FxHashMap;

/// The map.
pub(crate) struct IdMap {
    pairs: Pairs,
    /// Last id given out when the map was emptied.
    id_gen: u32,
    tmp_id_gen: u32,
    is_empty: bool,
}

enum Pairs {
    Stamped(Stamped),
    Cleared(Box<[(u32, u32); BPF_ID_MAP_SIZE]>),
}

/// Registers and stack slots of a full chain of calls: as many ids can be compared.
const BPF_ID_MAP_SIZE: usize = (11 + 64) * 8;

/// Pairs of all generations, by either id.
#[derive(Default)]
struct Stamped {
    generation: u32,
    /// Ids below 64k: dense, `(generation, other id)`.
    old_to_cur: Vec<(u32, u32)>,
    cur_to_old: Vec<(u32, u32)>,
    /// The others (linked scalars carry a flag in the top bit).
    big: FxHashMap<(bool, u32), (u32, u32)>,
}

const DENSE: u32 = 1 << 16;

impl IdMap {
    pub(crate) fn new(reset: IdmapReset) -> IdMap {
        let pairs = match reset {
            IdmapReset::Counter => Pairs::Stamped(Stamped::default()),
            IdmapReset::Memset => Pairs::Cleared(Box::new([(0, 0); BPF_ID_MAP_SIZE])),
        };
        IdMap { pairs, id_gen: 0, tmp_id_gen: 0, is_empty: true }
    }

    /// Forgets all pairs; `id_gen` is the last id given out, above which temporary ids are taken.
    pub(crate) fn reset(&mut self, id_gen: u32) {
        self.id_gen = id_gen;
        self.tmp_id_gen = id_gen;
        self.is_empty = true;
        match &mut self.pairs {
            Pairs::Stamped(stamped) => stamped.reset(),
            Pairs::Cleared(pairs) => pairs.fill((0, 0)),
        }
    }

    /// Forgets the pairs since the reset.
    pub(crate) fn undo(&mut self) {
        if !self.is_empty {
            self.reset(self.id_gen);
        }
    }

    /// Whether `old` may stand for `cur`: both none, or a pair consistent with all pairs before.
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
            Pairs::Stamped(stamped) => stamped.check(old, cur),
            Pairs::Cleared(pairs) => check_from_start(&mut pairs[..], old, cur),
        }
    }

    /// The same for scalars, where having no id is like having one of its own.
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
            Pairs::Stamped(s) => {
                (s.old_to_cur.capacity() + s.cur_to_old.capacity()) * size_of::<(u32, u32)>()
                    + s.big.capacity() * size_of::<((bool, u32), (u32, u32))>()
            }
            Pairs::Cleared(pairs) => size_of_val(&pairs[..]),
        };
        bytes as u64
    }
}

/// Looks for either id until an empty place, which the pair takes.
fn check_from_start(pairs: &mut [(u32, u32)], old: u32, cur: u32) -> bool {
    for pair in pairs {
        if pair.0 == 0 {
            *pair = (old, cur);
            return true;
        }
        if pair.0 == old {
            return pair.1 == cur;
        }
        if pair.1 == cur {
            return false;
        }
    }
    // More ids than registers and slots: cannot be, and says no if it is.
    false
}

impl Stamped {
    fn reset(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.old_to_cur.clear();
            self.cur_to_old.clear();
            self.generation = 1;
        }
        if !self.big.is_empty() {
            self.big.clear();
        }
    }

    fn check(&mut self, old: u32, cur: u32) -> bool {
        match (self.get(true, old), self.get(false, cur)) {
            (Some(known), _) => known == cur,
            (None, Some(_)) => false,
            (None, None) => {
                self.set(true, old, cur);
                self.set(false, cur, old);
                true
            }
        }
    }

    fn get(&self, old_side: bool, id: u32) -> Option<u32> {
        let (generation, other) = if id < DENSE {
            let table = if old_side { &self.old_to_cur } else { &self.cur_to_old };
            *table.get(id as usize)?
        } else {
            *self.big.get(&(old_side, id))?
        };
        (generation == self.generation).then_some(other)
    }

    fn set(&mut self, old_side: bool, id: u32, other: u32) {
        let entry = (self.generation, other);
        if id < DENSE {
            let table = if old_side { &mut self.old_to_cur } else { &mut self.cur_to_old };
            if table.len() <= id as usize {
                table.resize((id as usize + 1).next_multiple_of(64), (0, 0));
            }
            table[id as usize] = entry;
        } else {
            self.big.insert((old_side, id), entry);
        }
    }
}
