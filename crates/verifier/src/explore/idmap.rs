//! Ids of an old state matched with ids of the current one, one to one.
//!
//! A generation stamp makes a reset O(1): entries of older generations count as absent.
//!
//! # Invariants
//! 1. Within a generation, an old id maps to one current id, and a current id is the image of at
//!    most one old id.
//!
//! Kernel: `check_ids`, `struct bpf_idmap` (6.18).

use rustc_hash::FxHashMap;

/// The map.
#[derive(Default)]
pub(crate) struct IdMap {
    generation: u32,
    /// Ids below 64k: dense, `(generation, other id)`.
    old_to_cur: Vec<(u32, u32)>,
    cur_to_old: Vec<(u32, u32)>,
    /// The others (linked scalars carry a flag in the top bit).
    big: FxHashMap<(bool, u32), (u32, u32)>,
    tmp_id_gen: u32,
    pub(crate) resets: u64,
}

const DENSE: u32 = 1 << 16;

impl IdMap {
    /// Forgets all pairs; `id_gen` is the last id given out, above which temporary ids are taken.
    pub(crate) fn reset(&mut self, id_gen: u32) {
        self.tmp_id_gen = id_gen;
        self.resets += 1;
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
                table.resize(id as usize + 1, (0, 0));
            }
            table[id as usize] = entry;
        } else {
            self.big.insert((old_side, id), entry);
        }
    }

    /// Whether `old` may stand for `cur`: both none, or a pair consistent with all pairs before.
    pub(crate) fn check_ids(&mut self, old: u32, cur: u32) -> bool {
        if (old == 0) != (cur == 0) {
            return false;
        }
        if old == 0 {
            return true;
        }
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

    /// The same for scalars, where having no id is like having one of its own.
    pub(crate) fn check_scalar_ids(&mut self, old: u32, cur: u32) -> bool {
        let old = if old == 0 { self.temporary() } else { old };
        let cur = if cur == 0 { self.temporary() } else { cur };
        self.check_ids(old, cur)
    }

    fn temporary(&mut self) -> u32 {
        self.tmp_id_gen += 1;
        self.tmp_id_gen
    }
}
