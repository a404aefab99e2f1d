//! The current state, and its saved form.
//!
//! Kernel: `struct bpf_verifier_state` (6.18).

use super::arena::Arena;
use super::chains::Chains;
use super::frame::Frame;
use super::history::{History, JmpEntry, Stretch};
use super::refs::RefState;
use crate::state::ids::CkptId;
use crate::state::ids::FrameId;
use smallvec::SmallVec;

/// The parts of a state other than frames, references and history.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StateMeta {
    /// Last checkpoint on the path.
    pub(crate) parent: Option<CkptId>,
    /// The current insn; for a checkpoint, the insn at which it was saved.
    pub(crate) insn_idx: u32,
    /// The insn walked before; for a checkpoint, the one that led to it.
    pub(crate) last_insn_idx: u32,
    /// First insn walked since the parent.
    pub(crate) first_insn_idx: u32,
    /// Checkpoints on the path.
    pub(crate) dfs_depth: u32,
    pub(crate) callback_unroll_depth: u32,
    pub(crate) may_goto_depth: u32,
    pub(crate) speculative: bool,
    pub(crate) in_sleepable: bool,
}

/// The state being walked.
#[derive(Debug, Default)]
pub(crate) struct VerifierState {
    /// Call frames, the entry frame first; never empty while walking.
    pub(crate) frames: Vec<Frame>,
    pub(crate) refs: RefState,
    pub(crate) history: History,
    pub(crate) meta: StateMeta,
}

/// A saved state: a checkpoint or a pending branch.
#[derive(Debug, Default)]
pub(crate) struct PackedState {
    pub(crate) frames: SmallVec<[FrameId; 4]>,
    /// `None` if no reference is held.
    pub(crate) refs: Option<Box<RefState>>,
    /// History since the parent; in the history stack, unless the state has its own.
    pub(crate) stretch: Stretch,
    /// Own copy of the history of a state to which the walk does not return.
    pub(crate) own_history: Option<Box<OwnHistory>>,
    pub(crate) meta: StateMeta,
}

/// A history that belongs to one state. Boxed because few states have one.
#[derive(Debug)]
pub(crate) struct OwnHistory(pub(crate) Box<[JmpEntry]>);

impl OwnHistory {
    pub(crate) fn bytes(&self) -> u64 {
        size_of_val(&*self.0) as u64
    }
}

impl VerifierState {
    /// Index of the current frame.
    pub(crate) fn curframe(&self) -> u32 {
        self.frames.len() as u32 - 1
    }
    /// The current frame.
    pub(crate) fn frame(&self) -> &Frame {
        &self.frames[self.frames.len() - 1]
    }
    /// The current frame.
    pub(crate) fn frame_mut(&mut self) -> &mut Frame {
        let i = self.frames.len() - 1;
        &mut self.frames[i]
    }

    /// The dependencies of all registers are unknown: the history has to be used.
    pub(crate) fn lose_chains(&mut self) {
        for frame in &mut self.frames {
            frame.chains = Chains::LOST;
        }
    }

    /// Saves the state as it is.
    pub(crate) fn save(&mut self, arena: &mut Arena) -> PackedState {
        let mut frames = SmallVec::new();
        for frame in &mut self.frames {
            frames.push(arena.save_frame(frame));
        }
        PackedState {
            frames,
            refs: (!self.refs.is_nothing()).then(|| Box::new(self.refs.clone())),
            stretch: self.history.stretch(),
            own_history: None,
            meta: self.meta,
        }
    }

    /// Restores a saved state, which is consumed; the caller restores the history.
    pub(crate) fn load(&mut self, saved: PackedState, arena: &mut Arena) {
        while self.frames.len() > saved.frames.len() {
            if let Some(frame) = self.frames.pop() {
                arena.drop_frame(frame);
            }
        }
        while self.frames.len() < saved.frames.len() {
            self.frames.push(Frame::new(Default::default()));
        }
        for (frame, &id) in self.frames.iter_mut().zip(&saved.frames) {
            arena.load_frame(id, frame);
        }
        match saved.refs {
            Some(refs) => self.refs = *refs,
            None => self.refs.forget_all(),
        }
        self.meta = saved.meta;
        for id in saved.frames {
            arena.release(id);
        }
    }

    /// The call site of the innermost caller, 0 in the entry frame: part of the key of the
    /// checkpoint lists.
    pub(crate) fn callsite_key(&self) -> u32 {
        self.frame().meta.callsite as u32
    }
}
