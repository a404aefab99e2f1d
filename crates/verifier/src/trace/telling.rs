//! Reports events of the walk to a listener.

use super::sides::{Side, Sides};
use super::{Apart, Event, Registers};
use crate::env::Env;
use crate::log::state_line::slot_char;
use crate::rejection::Rejection;
use crate::state::arena::PackedReg;
use crate::state::checkpoint::{Hints, Hot};
use crate::state::history::LinkedReg;
use crate::state::ids::CkptId;
use crate::state::reg_type::Base;
use crate::state::stack::Slot;

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
    /// Reports an event, if there is a listener.
    pub(crate) fn tell(&mut self, event: Event<'_>) {
        if let Some(listener) = &mut self.listener {
            listener.tell(event);
        }
    }

    /// Tells what the insn before has changed, and that the one at hand is next.
    pub(crate) fn tell_insn(&mut self) {
        if self.listener.is_none() {
            return;
        }
        if self.tells_registers && (self.scratched_regs != 0 || self.scratched_slots != 0) {
            self.tell_registers(Some(self.prev_insn_idx).filter(|&prev| prev != u32::MAX));
        }
        let (insn_idx, frame) = (self.insn_idx, self.cur.curframe());
        self.tell(Event::Insn { insn_idx, frame });
    }

    /// Tells what was changed since the last time.
    pub(crate) fn tell_registers(&mut self, by: Option<u32>) {
        if !self.tells_registers {
            return;
        }
        let Some(listener) = self.listener.take() else { return };
        let frame = self.cur.frame();
        let is_known = |regno: &u8| self.reg(*regno).ty.base != Base::NotInit;
        let scratched = (0..11).filter(|regno| self.scratched_regs >> regno & 1 == 1);
        let changed = scratched.filter(is_known).fold(0, |changed, regno| changed | 1 << regno);
        let frameno = frame.meta.frameno;
        let value = |regno: u8| {
            let mut text = String::new();
            self.write_reg(&mut text, &self.reg(regno), frameno, !self.bpf_capable);
            text
        };
        if changed != 0 {
            listener.tell(Event::Registers(Registers {
                by,
                frame: frameno,
                changed,
                value: &value,
            }));
        }
        self.listener = Some(listener);
        if !self.log.traces() {
            self.scratched_regs = 0;
            self.scratched_slots = 0;
        }
    }

    /// The walk is over: the program is refused.
    pub(crate) fn tell_refused(&mut self, rejection: &Rejection) {
        self.tell(Event::Refused {
            insn_idx: self.insn_idx,
            frame: rejection.frameno,
            kind: &rejection.kind,
        });
    }

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
