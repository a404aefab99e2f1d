//! Which parts of a saved state are still needed; the others are cleared.
//!
//! Kernel: `clean_verifier_state` (6.18), and the mechanism described in `state::reads`.

use super::equal::Exactness;
use crate::env::{Env, Store};
use crate::state::arena::PackedReg;
use crate::state::checkpoint::Hints;
use crate::state::frame::{Frame, frame_insn_idx};
use crate::state::ids::CkptId;
use crate::state::stack::Slot;
use smallvec::SmallVec;

/// The number of stack slots of each frame.
fn slots_of(frames: &[Frame]) -> SmallVec<[usize; 8]> {
    frames.iter().map(|frame| frame.slots().len()).collect()
}

impl Env<'_> {
    /// Records that the current state was saved as `id`.
    pub(super) fn save_reads(&mut self, id: CkptId) {
        if let Some(reads) = &mut self.store.reads {
            reads.save(id, self.walk.cur.meta.parent, &slots_of(&self.walk.cur.frames));
        }
    }

    /// Whether an iteration of a loop is in the same state as an earlier one.
    pub(super) fn is_round_again(&mut self, id: CkptId) -> bool {
        if self.facts.rules().loops_repeat_exactly {
            return self.states_equal(id, Exactness::Same);
        }
        if self.store.reads.is_none() {
            return self.states_equal(id, Exactness::Covered);
        }
        // Parts that have not been read so far do not matter.
        let kept = self.store.ckpts.get(id);
        let (frames, precise) = (kept.state.frames.clone(), kept.precise.clone());
        frames.iter().for_each(|&frame| self.store.arena.retain(frame));
        self.forget_unneeded(id);
        let is_again = self.states_equal(id, Exactness::Covered);
        let ckpt = self.store.ckpts.get_mut(id);
        ckpt.precise = precise;
        for frame in std::mem::replace(&mut ckpt.state.frames, frames) {
            self.store.arena.release(frame);
        }
        is_again
    }

    /// Marks what was read on the paths from the checkpoint as read after the current state.
    pub(super) fn join_reads(&mut self, id: CkptId) {
        if let Some(reads) = &mut self.store.reads {
            reads.join(id, self.walk.cur.meta.parent, &slots_of(&self.walk.cur.frames));
        }
    }

    pub(super) fn clean_checkpoint(&mut self, id: CkptId) {
        self.forget_unneeded(id);
        let hot = self.store.ckpts.hot_mut(id);
        hot.cleaned = true;
        if self.store.reads.is_some() {
            hot.hints = Hints::default();
        }
    }

    /// Clears what the checkpoint does not need.
    fn forget_unneeded(&mut self, id: CkptId) {
        let Env { store, learned, .. } = self;
        let Store { arena, ckpts, reads, .. } = store;
        let ckpt = ckpts.get_mut(id);
        let n = ckpt.state.frames.len();
        let insn_idx = ckpt.state.meta.insn_idx;
        let instance = arena.meta(ckpt.state.frames[n - 1]).instance;
        for i in 0..n {
            let at = frame_insn_idx(i, n, insn_idx, |f| arena.meta(ckpt.state.frames[f]).callsite);
            let (live, alive) = match reads {
                Some(reads) => reads.needed(id, i),
                None => {
                    let alive = learned.live_stack.live_mask(instance, insn_idx, i);
                    (learned.aux[at as usize].live_regs, alive)
                }
            };
            let clean_regs = |regs: &mut [PackedReg; 11]| {
                for (r, reg) in regs.iter_mut().enumerate().take(10) {
                    if live >> r & 1 == 0 {
                        *reg = Default::default();
                    }
                }
            };
            let frame = &mut ckpt.state.frames[i];
            *frame = arena.edit_frame(*frame, clean_regs, !0, |first, slots| {
                let mut changed = false;
                for (spi, slot) in (first..).zip(slots) {
                    if alive >> spi & 1 == 0 && *slot != Slot::default() {
                        *slot = Slot::default();
                        changed = true;
                    }
                }
                changed
            });
            let marks = &mut ckpt.precise[i];
            marks.regs &= live;
            marks.stack &= alive;
        }
    }
}
