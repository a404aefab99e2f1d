//! Values in the current state that are precise, on kernels that mark them there, too: see
//! `precision::current_marks`.

use crate::memory::{capacity_bytes, push_tight};
use crate::state::checkpoint::Marks;
use skep_uapi::limits::MAX_CALL_FRAMES;
use smallvec::SmallVec;

type Frames = SmallVec<[Marks; MAX_CALL_FRAMES]>;

/// The marks of the current state, and of the pending branches.
#[derive(Debug, Default)]
pub(crate) struct CurrentMarks {
    frames: Frames,
    /// Those of the pending branches, in order.
    waiting: Vec<Frames>,
}

impl CurrentMarks {
    pub(crate) fn begin(&mut self) {
        *self = CurrentMarks::default();
    }

    /// When a branch is left for later.
    pub(crate) fn wait(&mut self) {
        push_tight(&mut self.waiting, self.frames.clone());
    }

    /// When one is that begins with a new state.
    pub(crate) fn wait_anew(&mut self) {
        push_tight(&mut self.waiting, Frames::default());
    }

    pub(crate) fn resume(&mut self) {
        self.frames = self.waiting.pop().unwrap_or_default();
    }

    pub(crate) fn of(&self, frame: usize) -> Marks {
        self.frames.get(frame).copied().unwrap_or_default()
    }

    pub(crate) fn at(&mut self, frame: usize) -> &mut Marks {
        if self.frames.len() <= frame {
            self.frames.resize(frame + 1, Marks::default());
        }
        &mut self.frames[frame]
    }

    /// When only `frames` frames are left.
    pub(crate) fn leave(&mut self, frames: usize) {
        self.frames.truncate(frames);
    }

    /// When a state is saved.
    pub(crate) fn forget(&mut self) {
        self.frames.clear();
    }

    pub(crate) fn set(&mut self, frame: usize, reg: u8, is_marked: bool) {
        let marks = self.at(frame);
        marks.regs = marks.regs & !(1 << reg) | u16::from(is_marked) << reg;
    }

    pub(crate) fn bytes(&self) -> u64 {
        capacity_bytes(&self.waiting)
    }
}
