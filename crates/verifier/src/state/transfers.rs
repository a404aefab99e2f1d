//! A cache of scalar operations, keyed by the interned names of the operands.
//!
//! A program often walks the same insns with the same values. Operands are interned, so the result
//! of an operation is cached under its code and the names of its two operands.
//!
//! # Invariants
//! 1. An entry holds exactly what the operation would compute: the result depends only on the key.

/// Names of results; their meaning depends on the operation.
pub(crate) type Results = [u32; 4];

#[derive(Clone, Copy)]
struct Entry {
    op: u32,
    operands: [u32; 2],
    results: Results,
}

/// The table: one entry per place; a new entry replaces the old one.
pub(crate) struct Transfers {
    entries: Vec<Entry>,
    used: usize,
}

/// `op` of an empty entry.
const EMPTY: u32 = u32::MAX;
const LEN_MIN: usize = 64;
const LEN_MAX: usize = 1 << 11;

impl Transfers {
    /// An empty cache.
    pub(crate) fn new() -> Transfers {
        Transfers { entries: vec![Self::empty(); LEN_MIN], used: 0 }
    }

    fn empty() -> Entry {
        Entry { op: EMPTY, operands: [0; 2], results: [0; 4] }
    }

    #[inline]
    fn place(&self, op: u32, [a, b]: [u32; 2]) -> usize {
        let mixed = (u64::from(a) << 32 | u64::from(b)) ^ u64::from(op) << 24;
        (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize & (self.entries.len() - 1)
    }

    /// The cached result of `op` for these operands.
    #[inline]
    pub(crate) fn get(&self, op: u32, operands: [u32; 2]) -> Option<Results> {
        let entry = &self.entries[self.place(op, operands)];
        (entry.op == op && entry.operands == operands).then_some(entry.results)
    }

    /// Stores the result of `op`.
    pub(crate) fn insert(&mut self, op: u32, operands: [u32; 2], results: Results) {
        if self.used * 2 >= self.entries.len() && self.entries.len() < LEN_MAX {
            self.grow();
        }
        let place = self.place(op, operands);
        self.used += usize::from(self.entries[place].op == EMPTY);
        self.entries[place] = Entry { op, operands, results };
    }

    /// Removes entries that refer to values that no longer exist. Results that are not names are
    /// smaller or larger than any collectable name.
    pub(crate) fn retain(&mut self, stays: impl Fn(u32) -> bool) {
        for entry in self.entries.iter_mut().filter(|entry| entry.op != EMPTY) {
            let [a, b] = entry.operands.map(&stays);
            let [c, d, e, f] = entry.results.map(&stays);
            if !(a & b & c & d & e & f) {
                *entry = Self::empty();
                self.used -= 1;
            }
        }
    }

    fn grow(&mut self) {
        let doubled = vec![Self::empty(); self.entries.len() * 2];
        let old = std::mem::replace(&mut self.entries, doubled);
        self.used = 0;
        for entry in old.into_iter().filter(|e| e.op != EMPTY) {
            let place = self.place(entry.op, entry.operands);
            self.used += usize::from(self.entries[place].op == EMPTY);
            self.entries[place] = entry;
        }
    }

    /// Bytes allocated.
    pub(crate) fn bytes(&self) -> u64 {
        (self.entries.capacity() * size_of::<Entry>()) as u64
    }
}
