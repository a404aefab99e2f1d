//! Checkpoints: states saved at prune points, that later paths are compared with.
//!
//! # Invariants
//! 1. `branches` counts the paths from here that are not walked to their end; 0 means that the
//!    state is verified.
//! 2. Precision marks live here and nowhere else: bit i of `precise_regs` of frame f says that
//!    register i of frame f is a scalar whose value mattered; `precise_stack` likewise by slot.
//! 3. `in_free_list` checkpoints are in no list any more and are freed when `branches` falls to 0.
//!
//! Kernel: `struct bpf_verifier_state_list` (6.18).

use super::arena::Arena;
use super::verifier_state::PackedState;
use smallvec::SmallVec;

/// Name of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CkptId(pub(crate) u32);

/// Precision marks of one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Bit i: register i.
    pub(crate) regs: u16,
    /// Bit i: the register spilled in slot i.
    pub(crate) stack: u64,
}

/// A saved state.
#[derive(Debug, Default)]
pub(crate) struct Checkpoint {
    pub(crate) state: PackedState,
    pub(crate) precise: SmallVec<[Marks; 2]>,
    pub(crate) branches: u32,
    pub(crate) miss_cnt: u32,
    pub(crate) hit_cnt: u32,
    pub(crate) in_free_list: bool,
    /// Dead registers and slots have been removed.
    pub(crate) cleaned: bool,
}

/// All checkpoints, recycled through a free list.
#[derive(Default)]
pub(crate) struct Checkpoints {
    items: Vec<Checkpoint>,
    free: Vec<u32>,
}

impl Checkpoints {
    /// Keeps `ckpt`.
    pub(crate) fn add(&mut self, ckpt: Checkpoint) -> CkptId {
        match self.free.pop() {
            Some(id) => {
                self.items[id as usize] = ckpt;
                CkptId(id)
            }
            None => {
                self.items.push(ckpt);
                CkptId(self.items.len() as u32 - 1)
            }
        }
    }

    pub(crate) fn get(&self, id: CkptId) -> &Checkpoint {
        &self.items[id.0 as usize]
    }
    pub(crate) fn get_mut(&mut self, id: CkptId) -> &mut Checkpoint {
        &mut self.items[id.0 as usize]
    }

    /// Forgets a checkpoint that nothing refers to any more.
    pub(crate) fn remove(&mut self, id: CkptId, arena: &mut Arena) {
        let gone = std::mem::take(&mut self.items[id.0 as usize]);
        for frame in gone.state.frames {
            arena.release(frame);
        }
        self.free.push(id.0);
    }
}
