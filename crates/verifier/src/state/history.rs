//! The jump history: the path since the last checkpoint, for precision backtracking.
//!
//! The histories of the current path, of its checkpoints and of the branches pending along it are
//! one stack: the walk is depth first, so everything to which a pending branch or a checkpoint on
//! the path refers is below whatever was pushed later.
//!
//! # Invariants
//! 1. The range of a pending branch, or of a checkpoint with branches, is within the stack and has
//!    not changed since it was saved, except for its last entry, of which a branch keeps a copy.
//!
//! Kernel: `struct bpf_jmp_history_entry` (6.18).

use super::stack::BPF_REG_SIZE;
use crate::memory::push_tight;

/// What the history records about the insn besides its index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Access {
    #[default]
    None,
    /// It reads or writes the stack slot `spi` of frame `frameno`.
    Stack { frameno: u8, spi: u8 },
    /// A conditional jump with a stack pointer operand, which has no precision.
    StackPtr { dst: bool, src: bool },
}

impl Access {
    /// The stack access at `off` (negative) of frame `frameno`.
    pub(crate) fn stack(frameno: u32, off: i32) -> Access {
        Access::Stack { frameno: frameno as u8, spi: ((-off - 1) / BPF_REG_SIZE) as u8 }
    }
}

/// A register or spilled register that shares its id with others at a conditional jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkedReg {
    pub(crate) frameno: u8,
    pub(crate) is_reg: bool,
    /// Register number or spi.
    pub(crate) at: u8,
}

/// Maximum number of linked registers recorded for one jump.
pub(crate) const LINKED_REGS_MAX: usize = 6;

/// A few linked registers, ten bits each; their count is in the bits above.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinkedRegs([u32; 2]);

const LINKED_BITS: usize = 10;
const LEN_AT: usize = LINKED_REGS_MAX * LINKED_BITS;

impl LinkedRegs {
    fn bits(self) -> u64 {
        u64::from(self.0[1]) << 32 | u64::from(self.0[0])
    }

    /// Adds one; false (and nothing added) if there are `max` (at most [`LINKED_REGS_MAX`]).
    pub(crate) fn push(&mut self, linked: LinkedReg, max: usize) -> bool {
        let len = self.len();
        if len >= max.min(LINKED_REGS_MAX) {
            return false;
        }
        let entry =
            u64::from(linked.frameno) << 7 | u64::from(linked.is_reg) << 6 | u64::from(linked.at);
        let bits = (self.bits() | entry << (len * LINKED_BITS)) + (1 << LEN_AT);
        self.0 = [bits as u32, (bits >> 32) as u32];
        true
    }
    pub(crate) fn len(&self) -> usize {
        (self.bits() >> LEN_AT) as usize
    }
    pub(crate) fn iter(&self) -> impl Iterator<Item = LinkedReg> + '_ {
        (0..self.len()).map(|i| {
            let entry = self.bits() >> (i * LINKED_BITS);
            LinkedReg {
                frameno: (entry >> 7 & 7) as u8,
                is_reg: entry >> 6 & 1 == 1,
                at: (entry & 0x3f) as u8,
            }
        })
    }
}

/// A recorded step: `insn_idx` was reached from `prev_idx`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct JmpEntry {
    pub(crate) insn_idx: u32,
    pub(crate) prev_idx: u32,
    pub(crate) access: Access,
    pub(crate) linked: LinkedRegs,
}

/// Position of a saved stretch in the stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stretch {
    start: u32,
    end: u32,
}

impl Stretch {
    /// Its entries in the stack.
    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// The stack; its topmost stretch belongs to the current state.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    entries: Vec<JmpEntry>,
    /// Start of the topmost stretch.
    start: usize,
}

impl History {
    /// Entries of the current stretch.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.start
    }
    /// The newest entry of the current stretch.
    #[inline]
    pub(crate) fn last_mut(&mut self) -> Option<&mut JmpEntry> {
        self.entries[self.start..].last_mut()
    }
    #[inline]
    pub(crate) fn push(&mut self, entry: JmpEntry) {
        push_tight(&mut self.entries, entry);
    }
    /// Begins a new stretch with the next entry.
    pub(crate) fn begin_stretch(&mut self) {
        self.start = self.entries.len();
    }
    /// Removes everything.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.start = 0;
    }
    /// Position of the current stretch.
    pub(crate) fn stretch(&self) -> Stretch {
        Stretch { start: self.start as u32, end: self.entries.len() as u32 }
    }
    /// An empty stretch on top of the stack.
    pub(crate) fn empty_stretch(&self) -> Stretch {
        Stretch { start: self.entries.len() as u32, end: self.entries.len() as u32 }
    }
    /// The newest entry, whatever stretch it belongs to.
    pub(crate) fn top(&self) -> Option<JmpEntry> {
        self.entries.last().copied()
    }
    /// Goes back to `stretch`, whose newest entry was `top`.
    pub(crate) fn rewind(&mut self, stretch: Stretch, top: Option<JmpEntry>) {
        self.entries.truncate(stretch.end as usize);
        self.start = stretch.start as usize;
        if let (Some(last), Some(top)) = (self.entries.last_mut(), top) {
            *last = top;
        }
    }
    /// The entries of a saved stretch.
    pub(crate) fn entries(&self, stretch: Stretch) -> &[JmpEntry] {
        &self.entries[stretch.range()]
    }
    /// Takes all entries, for backtracking; return them with [`Self::put_back`].
    pub(crate) fn take(&mut self) -> Vec<JmpEntry> {
        std::mem::take(&mut self.entries)
    }
    /// Position of the current stretch among the `len` entries taken.
    pub(crate) fn current_range(&self, len: usize) -> std::ops::Range<usize> {
        self.start..len
    }
    /// Puts back the entries taken by [`Self::take`].
    pub(crate) fn put_back(&mut self, entries: Vec<JmpEntry>) {
        self.entries = entries;
    }
    /// Bytes allocated.
    pub(crate) fn bytes(&self) -> u64 {
        (self.entries.capacity() * size_of::<JmpEntry>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linked_registers_are_packed() {
        let mut linked = LinkedRegs::default();
        let places: Vec<LinkedReg> = (0..6)
            .map(|i| LinkedReg { frameno: 7 - i, is_reg: i % 2 == 0, at: 63 - 9 * i })
            .collect();
        assert!(places.iter().all(|&place| linked.push(place, LINKED_REGS_MAX)));
        assert!(!linked.push(places[0], LINKED_REGS_MAX));
        assert_eq!(linked.iter().collect::<Vec<_>>(), places);
    }
}
