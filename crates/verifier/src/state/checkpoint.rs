//! Checkpoints: states saved at prune points, with which later paths are compared.
//!
//! The part that every visit of a prune point reads is stored separately ([`Hot`]), so that most
//! comparisons need not read the state itself.
//!
//! # Invariants
//! 1. `branches` counts the paths from here that have not been fully explored; 0 means that the
//!    state is verified.
//! 2. Precision marks exist only here: bit i of `precise_regs` of frame f says that register i of
//!    frame f is a scalar whose value affected a decision; `precise_stack` likewise by slot.
//! 3. `in_free_list` checkpoints are in no list any more, and are freed when `branches` becomes 0.
//! 4. Hints stay true until the checkpoint is freed.
//! 5. The place of a `gone` checkpoint is not reused before the pending back-edges are propagated,
//!    whose paths may lead through it.
//!
//! Kernel: `struct bpf_verifier_state_list` (6.18).

use super::arena::Arena;
use super::chains::Chains;
use super::history::LinkedReg;
use super::slab::Slab;
use super::verifier_state::{OwnHistory, PackedState};
use crate::memory::{capacity_bytes, push_tight};
use crate::state::ids::CkptId;
use crate::tuning::StateAlloc;
use smallvec::SmallVec;
use std::num::NonZeroU32;

/// Precision marks of one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(Rust, packed(4))]
pub(crate) struct Marks {
    /// Bit i: the register spilled in slot i.
    pub(crate) stack: u64,
    /// Bit i: register i.
    pub(crate) regs: u16,
}

impl Marks {
    pub(crate) fn add(&mut self, other: Marks) {
        self.stack |= other.stack;
        self.regs |= other.regs;
    }
}

/// Where earlier states compared with the checkpoint differed. Compared first, because the next one
/// may differ in the same place.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hints {
    /// Live and precise register of the last frame that holds the constant with this name.
    pub(crate) constant: Option<(u8, NonZeroU32)>,
    /// Register or slot that was not covered.
    pub(crate) place: Option<LinkedReg>,
}

/// Why a kept state does not cover the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mismatch {
    /// The paths from it have not all been explored.
    Unfinished,
    /// Frames, references, locks or critical sections differ.
    State,
    /// The constant in its hints differs.
    Constant,
    /// The register or slot in its hints is not covered.
    Place,
}

/// The fields that every visit reads.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hot {
    /// Insn that the state was saved at.
    pub(crate) insn_idx: u32,
    pub(crate) branches: u32,
    pub(crate) miss_cnt: u32,
    pub(crate) hit_cnt: u32,
    pub(crate) hints: Hints,
    /// The next older checkpoint in the list.
    pub(crate) older: Option<CkptId>,
    pub(crate) in_free_list: bool,
    /// Freed while back-edges were pending.
    pub(crate) gone: bool,
    /// Dead registers and slots have been removed.
    pub(crate) cleaned: bool,
    /// The last frame belongs to an async callback.
    pub(crate) in_async_callback_fn: bool,
}

/// A saved state.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    pub(crate) state: PackedState,
    pub(crate) precise: SmallVec<[Marks; 2]>,
    /// All its scalars have been marked precise.
    pub(crate) all_marked: bool,
    /// Dependencies of the registers of the last frame, back to the parent.
    pub(crate) chains: Chains,
}

/// Checkpoints with the same hash of insn and call site, newest first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bucket {
    pub(crate) newest: Option<CkptId>,
    /// The number of those that have not been cleaned.
    pub(crate) uncleaned: u32,
}

/// Storage of checkpoints.
enum Store {
    Arena(Slab<Checkpoint>),
    Heap(Vec<Option<Box<Checkpoint>>>),
}

/// All checkpoints, recycled through a free list.
pub(crate) struct Checkpoints {
    hot: Vec<Hot>,
    store: Store,
    free: Vec<u32>,
    gone: Vec<CkptId>,
    own_history: u64,
    own_history_peak: u64,
}

impl Checkpoints {
    /// An empty collection.
    pub(crate) fn new(alloc: StateAlloc) -> Checkpoints {
        let store = match alloc {
            StateAlloc::Arena => Store::Arena(Slab::new()),
            StateAlloc::Heap => Store::Heap(Vec::new()),
        };
        Checkpoints {
            hot: Vec::new(),
            store,
            free: Vec::new(),
            gone: Vec::new(),
            own_history: 0,
            own_history_peak: 0,
        }
    }

    /// Stores `ckpt`; true if it reused a place in the arena.
    pub(crate) fn add(&mut self, hot: Hot, ckpt: Checkpoint) -> (CkptId, bool) {
        if let Some(id) = self.free.pop() {
            self.hot[id as usize] = hot;
            let recycled = match &mut self.store {
                Store::Arena(items) => {
                    items[id] = ckpt;
                    true
                }
                Store::Heap(items) => {
                    items[id as usize] = Some(Box::new(ckpt));
                    false
                }
            };
            return (CkptId::of(id), recycled);
        }
        match &mut self.store {
            Store::Arena(items) => {
                items.push(ckpt);
            }
            Store::Heap(items) => items.push(Some(Box::new(ckpt))),
        }
        (CkptId::of(push_tight(&mut self.hot, hot)), false)
    }

    #[inline]
    pub(crate) fn hot(&self, id: CkptId) -> &Hot {
        &self.hot[id.place() as usize]
    }
    #[inline]
    pub(crate) fn hot_mut(&mut self, id: CkptId) -> &mut Hot {
        &mut self.hot[id.place() as usize]
    }

    /// The checkpoint with that id, which must not have been removed.
    #[inline]
    pub(crate) fn get(&self, id: CkptId) -> &Checkpoint {
        match &self.store {
            Store::Arena(items) => &items[id.place()],
            Store::Heap(items) => match &items[id.place() as usize] {
                Some(ckpt) => ckpt,
                None => unreachable!("a removed checkpoint is asked for"),
            },
        }
    }
    #[inline]
    pub(crate) fn get_mut(&mut self, id: CkptId) -> &mut Checkpoint {
        match &mut self.store {
            Store::Arena(items) => &mut items[id.place()],
            Store::Heap(items) => match &mut items[id.place() as usize] {
                Some(ckpt) => ckpt,
                None => unreachable!("a removed checkpoint is asked for"),
            },
        }
    }

    /// The list that begins with `newest`.
    pub(crate) fn list(&self, newest: Option<CkptId>) -> impl Iterator<Item = CkptId> + '_ {
        std::iter::successors(newest, |&id| self.hot(id).older)
    }

    /// Gives the checkpoint a copy of its history.
    pub(crate) fn keep_history(&mut self, id: CkptId, history: OwnHistory) {
        self.own_history += history.bytes();
        self.own_history_peak = self.own_history_peak.max(self.own_history);
        self.get_mut(id).state.own_history = Some(Box::new(history));
    }

    /// Removes a checkpoint that nothing refers to any more, except perhaps pending back-edges.
    pub(crate) fn remove(&mut self, id: CkptId, edges_pending: bool, arena: &mut Arena) {
        let state = &mut self.get_mut(id).state;
        let (own, frames) = (state.own_history.take(), std::mem::take(&mut state.frames));
        self.own_history -= own.map_or(0, |history| history.bytes());
        if let Store::Heap(items) = &mut self.store {
            items[id.place() as usize] = None;
        }
        for frame in frames {
            arena.release(frame);
        }
        if edges_pending {
            self.hot_mut(id).gone = true;
            self.gone.push(id);
        } else {
            self.free.push(id.place());
        }
    }

    /// No back-edges are pending any more.
    pub(crate) fn reuse_gone(&mut self) {
        while let Some(id) = self.gone.pop() {
            self.hot_mut(id).gone = false;
            self.free.push(id.place());
        }
    }

    /// Bytes allocated.
    pub(crate) fn bytes(&self) -> u64 {
        let store = match &self.store {
            Store::Arena(items) => items.bytes(),
            // Those on the free list have been freed, but not all of them were in use at the peak.
            Store::Heap(items) => {
                capacity_bytes(items) + (items.len() * size_of::<Checkpoint>()) as u64
            }
        };
        let ids = capacity_bytes(&self.free) + capacity_bytes(&self.gone);
        store + capacity_bytes(&self.hot) + ids
    }

    /// Bytes in use, of those allocated.
    pub(crate) fn bytes_in_use(&self) -> u64 {
        let in_use = self.hot.len() - self.free.len() - self.gone.len();
        (in_use * (size_of::<Hot>() + size_of::<Checkpoint>())) as u64
    }

    /// Bytes of the checkpoints' own histories.
    pub(crate) fn own_history_bytes(&self) -> u64 {
        self.own_history
    }

    /// Their maximum over time.
    pub(crate) fn own_history_peak_bytes(&self) -> u64 {
        self.own_history_peak
    }
}
