//! Values in the current state that are precise, on kernels that mark them there, too: see
//! `precision::current_marks`.

use crate::memory::{capacity_bytes, push_tight};
use crate::state::checkpoint::Marks;
use skep_uapi::limits::MAX_CALL_FRAMES;
use smallvec::SmallVec;

/// The marks of the current state, and of the pending branches.
#[derive(Debug)]
pub(crate) struct CurrentMarks {
    /// Whether they stay when a state is saved, which has them, too.
    pub(crate) stay: bool,
    now: Now,
    /// Those of the pending branches, in order.
    waiting: Vec<Now>,
}

#[derive(Clone, Debug, Default)]
struct Now {
    frames: SmallVec<[Marks; MAX_CALL_FRAMES]>,
    /// Where the last backtracking began since the last state was saved.
    traced: Option<Traced>,
}

/// A place in the history of the current state, and what is tracked there. The insn is the first
/// one before it that matters to that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Traced {
    pub(crate) idx: i64,
    pub(crate) entries_left: usize,
    /// The frame of the insn.
    pub(crate) frame: usize,
    /// The tracked registers and slots, by frame.
    pub(crate) regs: [u16; MAX_CALL_FRAMES],
    pub(crate) slots: [u64; MAX_CALL_FRAMES],
}

impl CurrentMarks {
    pub(crate) fn new(stay: bool) -> CurrentMarks {
        CurrentMarks { stay, now: Now::default(), waiting: Vec::new() }
    }

    pub(crate) fn begin(&mut self) {
        *self = CurrentMarks::new(self.stay);
    }

    /// When a branch is left for later.
    pub(crate) fn wait(&mut self) {
        push_tight(&mut self.waiting, self.now.clone());
    }

    /// When one is that begins with a new state.
    pub(crate) fn wait_anew(&mut self) {
        push_tight(&mut self.waiting, Now::default());
    }

    pub(crate) fn resume(&mut self) {
        self.now = self.waiting.pop().unwrap_or_default();
    }

    pub(crate) fn of(&self, frame: usize) -> Marks {
        self.now.frames.get(frame).copied().unwrap_or_default()
    }

    pub(crate) fn at(&mut self, frame: usize) -> &mut Marks {
        if self.now.frames.len() <= frame {
            self.now.frames.resize(frame + 1, Marks::default());
        }
        &mut self.now.frames[frame]
    }

    /// When only `frames` frames are left.
    pub(crate) fn leave(&mut self, frames: usize) {
        self.now.frames.truncate(frames);
    }

    /// When a state is saved, which gets these marks, by frame.
    pub(crate) fn save(&mut self, precise: &mut [Marks]) {
        match self.stay {
            true => precise.iter_mut().enumerate().for_each(|(at, it)| *it = self.of(at)),
            false => self.now = Now::default(),
        }
    }

    /// Where the last backtracking began; from now on, it is here.
    pub(crate) fn trace_from(&mut self, here: Traced) -> Option<Traced> {
        self.now.traced.replace(here)
    }

    pub(crate) fn set(&mut self, frame: usize, reg: u8, is_marked: bool) {
        let marks = self.at(frame);
        marks.regs = marks.regs & !(1 << reg) | u16::from(is_marked) << reg;
    }

    pub(crate) fn bytes(&self) -> u64 {
        capacity_bytes(&self.waiting)
    }
}
