//! What tells two states apart, for whoever asks why a path was not cut.

use super::{Apart, Event};
use crate::env::Env;
use crate::log::state_line::slot_char;
use crate::state::arena::PackedReg;
use crate::state::checkpoint::{CkptId, Hints, Hot};
use crate::state::history::LinkedReg;
use crate::state::stack::Slot;

/// What two states know of what tells them apart, in the notation of the kernel's log: it is put
/// into words only if it is asked for.
#[derive(Clone, Copy)]
pub struct Sides<'e> {
    value: &'e dyn Fn(Side) -> Option<String>,
}

/// One of two states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Saved,
    Current,
}

impl Sides<'_> {
    /// What the saved state knows; `None` if it is no register and no slot that tells them apart.
    pub fn saved(&self) -> Option<String> {
        (self.value)(Side::Saved)
    }

    /// What the current state knows.
    pub fn current(&self) -> Option<String> {
        (self.value)(Side::Current)
    }
}

impl std::fmt::Debug for Sides<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (saved, current) = (self.saved(), self.current());
        f.debug_struct("Sides").field("saved", &saved).field("current", &current).finish()
    }
}

/// The place that told a state from another one last.
pub(crate) fn place(hints: Hints, last_frame: u8) -> Apart {
    match hints {
        Hints { constant: Some((regno, _)), .. } => Apart::Register { frame: last_frame, regno },
        Hints { place: Some(LinkedReg { frameno: frame, is_reg: true, at }), .. } => {
            Apart::Register { frame, regno: at }
        }
        Hints { place: Some(LinkedReg { frameno: frame, at, .. }), .. } => {
            Apart::Slot { frame, spi: at }
        }
        Hints { place: None, constant: None } => Apart::State,
    }
}

impl Env<'_> {
    /// Tells why a checkpoint does not cover the current state.
    pub(crate) fn tell_kept_apart(&mut self, id: CkptId, hot: &Hot, why: Apart) {
        let Some(listener) = self.listener.take() else { return };
        let insn_idx = hot.insn_idx;
        let value = |side| self.side_text(id, why, side);
        listener.tell(Event::KeptApart { insn_idx, why, values: Sides { value: &value } });
        self.listener = Some(listener);
    }

    /// Tells what was marked in a frame of a checkpoint.
    pub(crate) fn tell_precise(&mut self, id: CkptId, frame: u32) {
        let (regs, slots) = (self.bt.regs[frame as usize], self.bt.slots[frame as usize]);
        let (insn_idx, by) = (self.ckpts.hot(id).insn_idx, self.insn_idx);
        self.tell(Event::Precise { insn_idx, by, frame, regs, slots });
    }

    /// What a state knows of what tells it from another.
    fn side_text(&self, id: CkptId, why: Apart, side: Side) -> Option<String> {
        let (frame, reg) = match why {
            Apart::Register { frame, regno } => {
                (frame, self.side_regs(id, frame, side)?[usize::from(regno)])
            }
            Apart::Slot { frame, spi } => {
                let slot = self.side_slot(id, (frame, spi), side);
                match slot.filter(Slot::is_spilled) {
                    Some(slot) => (frame, slot.spill),
                    None => return Some(slot.map_or(String::new(), |slot| types_text(&slot))),
                }
            }
            Apart::State | Apart::Unfinished => return None,
        };
        let mut text = String::new();
        self.write_reg(&mut text, &self.arena.reg(reg), frame.into(), false);
        Some(text)
    }

    fn side_regs(&self, id: CkptId, frame: u8, side: Side) -> Option<[PackedReg; 11]> {
        let at = usize::from(frame);
        match side {
            Side::Saved => Some(self.arena.frame(*self.ckpts.get(id).state.frames.get(at)?).regs),
            Side::Current => Some(*self.cur.frames.get(at)?.names()),
        }
    }

    fn side_slot(&self, id: CkptId, (frame, spi): (u8, u8), side: Side) -> Option<Slot> {
        let (at, spi) = (usize::from(frame), usize::from(spi));
        match side {
            Side::Saved => {
                let frame = *self.ckpts.get(id).state.frames.get(at)?;
                self.arena.frame_slot(frame, spi).copied()
            }
            Side::Current => self.cur.frames.get(at)?.slot(spi).copied(),
        }
    }
}

/// The types of a slot's bytes, the highest address first as in the log.
fn types_text(slot: &Slot) -> String {
    slot.types.iter().rev().map(|&ty| slot_char(ty)).collect()
}
