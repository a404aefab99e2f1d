//! Values in the current state that are precise, on kernels that mark them there, too: see
//! `precision::held`.

use crate::memory::capacity_bytes;
use crate::state::checkpoint::Marks;
use smallvec::SmallVec;

type Frames = SmallVec<[Marks; 2]>;

/// The marks of the current state, and of the pending branches.
#[derive(Debug, Default)]
pub(crate) struct Held {
    frames: Frames,
    /// Those of the pending branches, in order.
    waiting: Vec<Frames>,
}

impl Held {
    pub(crate) fn begin(&mut self) {
        *self = Held::default();
    }

    pub(crate) fn wait(&mut self, is_new: bool) {
        self.waiting.push(if is_new { Frames::default() } else { self.frames.clone() });
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
