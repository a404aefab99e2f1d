//! The stack of pending branches.
//!
//! Kernel: `push_stack`, `pop_stack` (6.18).

use crate::memory::capacity_bytes;
use crate::state::chains::Chains;
use crate::state::history::JmpEntry;
use crate::state::verifier_state::PackedState;

/// A pending branch.
pub(crate) struct Branch {
    pub(crate) state: PackedState,
    /// The insn at which it continues.
    pub(crate) insn_idx: u32,
    /// The insn that branched.
    pub(crate) prev_insn_idx: u32,
    /// Dependencies of the registers of its last frame.
    pub(super) chains: Chains,
    /// The newest history entry at the time of the push: the branching insn may still change it.
    pub(super) history_top: Option<JmpEntry>,
    /// Length of the log when it was pushed.
    pub(super) log_pos: usize,
}

/// The stack.
#[derive(Default)]
pub(crate) struct BranchStack {
    pub(super) items: Vec<Branch>,
}

impl BranchStack {
    /// The branch pushed last.
    pub(crate) fn last_mut(&mut self) -> Option<&mut Branch> {
        self.items.last_mut()
    }
    /// Bytes allocated.
    pub(crate) fn bytes(&self) -> u64 {
        capacity_bytes(&self.items)
    }
    /// The largest number of branches that were pending at once.
    pub(crate) fn room(&self) -> usize {
        self.items.capacity()
    }
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }
}
