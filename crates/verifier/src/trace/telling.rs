//! Reports events of the walk to its consumers.

use super::sides::{Side, SideValue, Sides};
use super::{Apart, Event, RegValue, Registers};
use crate::env::Env;
use crate::log::state_line::slot_char;
use crate::rejection::Refused;
use crate::state::arena::PackedReg;
use crate::state::checkpoint::{Hints, Mismatch};
use crate::state::frame::frame_insn_idx;
use crate::state::history::LinkedReg;
use crate::state::ids::CkptId;
use crate::state::reg_type::Base;
use crate::state::stack::Slot;
use crate::watch::{Covered, Matters};

/// Consecutive saved states of a list that did not cover the current one for the same reason. They
/// are reported together; the first at once if the reason is not that last reported of the insn.
#[derive(Default)]
pub(crate) struct ApartRun {
    why: Option<Apart>,
    /// The register, if the last state differed in the constant in a register.
    constant: Option<u8>,
    untold: u32,
}

/// The place of a mismatch, according to the hints of the saved state.
fn apart(mismatch: Mismatch, hints: Hints, last_frame: u8) -> Apart {
    match (mismatch, hints) {
        (Mismatch::Unfinished, _) => Apart::Unfinished,
        (Mismatch::Constant, Hints { constant: Some((regno, _)), .. }) => {
            Apart::Register { frame: last_frame, regno }
        }
        (Mismatch::Place, Hints { place: Some(place), .. }) => match place {
            LinkedReg { frameno: frame, is_reg: true, at } => Apart::Register { frame, regno: at },
            LinkedReg { frameno: frame, at, .. } => Apart::Slot { frame, spi: at },
        },
        _ => Apart::State,
    }
}

impl Env<'_> {
    /// The current insn is about to be walked. The log may print the whole state before it.
    #[inline(always)]
    pub(crate) fn tell_insn(&mut self, do_print_state: &mut bool) {
        if self.trace.is_followed {
            self.tell_insn_to_all(do_print_state);
        }
    }

    #[inline(always)] // A call per insn is measurable in profiles.
    fn tell_insn_to_all(&mut self, do_print_state: &mut bool) {
        let (insn_idx, frame) = (self.walk.insn_idx, self.walk.cur.curframe());
        if let Some(recorder) = &mut self.trace.recorder {
            recorder.insn(&self.walk.cur, &self.store.arena, insn_idx);
        }
        if self.trace.tells_registers
            && (self.walk.scratched_regs != 0 || self.walk.scratched_slots != 0)
        {
            self.tell_registers(Some(self.walk.prev_insn_idx).filter(|&prev| prev != u32::MAX));
        }
        self.trace.tell(Event::Insn { insn_idx, frame });
        if self.trace.log.traces() {
            self.print_insn(do_print_state);
        }
    }

    /// Insns on scalars were walked from `first` on, after `before` insns: for listeners that
    /// accept counts.
    #[inline(always)]
    pub(crate) fn tell_run(&mut self, first: u32, before: u32) {
        if self.trace.is_followed && self.store.stats.insns_processed > before {
            let insns = self.store.stats.insns_processed - before;
            self.trace.tell(Event::Run { first, insns, frame: self.walk.cur.curframe() });
        }
    }

    /// The branch pushed last is walked now.
    #[inline(always)]
    pub(crate) fn tell_goes_on(&mut self) {
        if !self.trace.is_followed {
            return;
        }
        if let Some(recorder) = &mut self.trace.recorder {
            recorder.pop();
        }
        self.trace.tell(Event::GoesOn {
            from: self.walk.prev_insn_idx,
            to: self.walk.insn_idx,
            speculative: self.walk.cur.meta.speculative,
        });
    }

    /// The path ends because a saved state covers it.
    #[inline(always)]
    pub(crate) fn tell_pruned(&mut self, after_pop: bool) {
        if self.trace.is_followed {
            let (insn_idx, frame) = (self.walk.insn_idx, self.walk.cur.curframe());
            self.trace.tell(Event::Pruned { insn_idx, frame });
            if self.trace.log.traces() {
                self.print_pruned(after_pop);
            }
        }
    }

    /// The checkpoint covers the current state; `within`: every value is within the checkpoint's
    /// range.
    #[inline(always)]
    pub(crate) fn tell_covered(&mut self, id: CkptId, within: bool) {
        if self.trace.is_followed {
            self.record_cut(id, within);
        }
    }

    fn record_cut(&mut self, id: CkptId, within: bool) {
        let Some(recorder) = &mut self.trace.recorder else { return };
        let ckpt = self.store.ckpts.get(id);
        let frames = &ckpt.state.frames;
        let n = frames.len();
        let all = self.facts.all_precise;
        let mut matters = Vec::new();
        for i in 0..n {
            let at = frame_insn_idx(i, n, ckpt.state.meta.insn_idx, |f| {
                self.store.arena.meta(frames[f]).callsite
            });
            let mut it =
                Matters { live: self.learned.aux[at as usize].live_regs, ..Matters::default() };
            let marks = ckpt.precise[i];
            it.precise = if all { !0 } else { marks.regs };
            for (spi, slot) in self.store.arena.frame_slots(frames[i]).enumerate() {
                it.slots |= u64::from(*slot != Slot::default()) << spi;
                let precise = all || marks.stack >> spi & 1 == 1;
                it.precise_slots |= u64::from(precise) << spi;
            }
            matters.push(it);
        }
        let covered = Covered { by: id, matters, within };
        recorder.cut(&self.walk.cur, &self.store.arena, self.walk.insn_idx, covered);
    }

    /// Reports registers that changed since the last report.
    fn tell_registers(&mut self, by: Option<u32>) {
        let Some(listener) = self.trace.listener.take() else { return };
        let frame = self.walk.cur.frame();
        let is_known = |regno: &u8| self.reg(*regno).ty.base != Base::NotInit;
        let scratched = (0..11).filter(|regno| self.walk.scratched_regs >> regno & 1 == 1);
        let changed = scratched.filter(is_known).fold(0, |changed, regno| changed | 1 << regno);
        let frameno = frame.meta.frameno;
        let value = |regno: u8| {
            let reg = self.reg(regno);
            RegValue::from(self.facts.reg_view(&reg, frameno, self.facts.all_precise))
        };
        if changed != 0 {
            listener.tell(Event::Registers(Registers {
                by,
                frame: frameno,
                changed,
                value: &value,
            }));
        }
        self.trace.listener = Some(listener);
        if !self.trace.log.traces() {
            self.walk.scratched_regs = 0;
            self.walk.scratched_slots = 0;
        }
    }

    /// The walk has ended: the program is rejected.
    pub(crate) fn tell_refused(&mut self, refused: &Refused) {
        self.trace.refused(refused);
        let frame = self.walk.cur.frames.len().saturating_sub(1) as u32;
        self.trace.tell(Event::Refused {
            insn_idx: self.walk.insn_idx,
            frame,
            kind: &refused.kind,
        });
    }

    /// Reports what a conditional jump changed.
    #[inline(always)]
    pub(crate) fn tell_branch_state(&mut self) {
        if self.trace.is_followed {
            if self.trace.tells_registers {
                self.tell_registers(Some(self.walk.insn_idx));
            }
            if self.trace.log.traces() {
                self.print_insn_state();
            }
        }
    }

    /// Reports why a checkpoint does not cover the current state.
    #[inline(always)] // Most calls only add to a run.
    pub(crate) fn tell_apart(&mut self, id: CkptId, mismatch: Mismatch, run: &mut ApartRun) {
        let hints = self.store.ckpts.hot(id).hints;
        let constant = hints.constant.filter(|_| mismatch == Mismatch::Constant);
        let constant = constant.map(|(regno, _)| regno);
        // Nearly all runs are of constants in one register.
        if constant.is_some() && constant == run.constant {
            run.untold += 1;
            return;
        }
        run.constant = constant;
        self.tell_other_apart(id, mismatch, run);
    }

    #[inline(never)] // Inlined, it costs searches 6 % without a listener.
    fn tell_other_apart(&mut self, id: CkptId, mismatch: Mismatch, run: &mut ApartRun) {
        let hints = self.store.ckpts.hot(id).hints;
        let why = apart(mismatch, hints, self.walk.cur.curframe() as u8);
        if run.why != Some(why) {
            let insn_idx = self.store.ckpts.hot(id).insn_idx;
            self.tell_rest(insn_idx, run);
            run.why = Some(why);
            if self.trace.is_news(insn_idx, why) {
                return self.tell_first_apart(id, why);
            }
        }
        run.untold += 1;
    }

    #[cold]
    fn tell_first_apart(&mut self, id: CkptId, why: Apart) {
        let insn_idx = self.store.ckpts.hot(id).insn_idx;
        let Some(listener) = self.trace.listener.take() else { return };
        let value = |side| self.side_value(id, why, side);
        listener.tell(Event::KeptApart {
            insn_idx,
            why,
            times: 1,
            values: Sides { value: &value },
        });
        self.trace.listener = Some(listener);
    }

    /// Reports a run.
    #[inline(always)]
    pub(crate) fn tell_rest(&mut self, insn_idx: u32, run: &mut ApartRun) {
        if run.untold > 0 {
            self.tell_run_apart(insn_idx, run);
        }
    }

    #[inline(never)]
    fn tell_run_apart(&mut self, insn_idx: u32, run: &mut ApartRun) {
        let times = std::mem::take(&mut run.untold);
        if let Some(why) = run.why {
            let values = Sides { value: &|_| None };
            self.trace.tell(Event::KeptApart { insn_idx, why, times, values });
        }
    }

    /// Reports new precision marks in a frame of a checkpoint.
    #[inline(always)]
    pub(crate) fn tell_precise(&mut self, id: CkptId, frame: u32) {
        if !self.trace.is_followed {
            return;
        }
        let (regs, slots) = (self.walk.bt.regs[frame as usize], self.walk.bt.slots[frame as usize]);
        let (insn_idx, by) = (self.store.ckpts.hot(id).insn_idx, self.walk.insn_idx);
        self.trace.tell(Event::Precise { insn_idx, by, frame, regs, slots });
    }

    /// The value of one state at the place where two states differ.
    fn side_value(&self, id: CkptId, why: Apart, side: Side) -> Option<SideValue> {
        let (frame, reg) = match why {
            Apart::Register { frame, regno } => {
                (frame, self.side_regs(id, frame, side)?[usize::from(regno)])
            }
            Apart::Slot { frame, spi } => {
                let slot = self.side_slot(id, frame, spi, side);
                match slot.filter(Slot::is_spilled) {
                    Some(slot) => (frame, slot.spill),
                    None => {
                        let types = slot.map_or(String::new(), |slot| types_text(&slot));
                        return Some(SideValue::Bytes(types));
                    }
                }
            }
            Apart::State | Apart::Unfinished => return None,
        };
        let reg = self.store.arena.reg(reg);
        let view = self.facts.reg_view(&reg, frame.into(), false);
        Some(SideValue::Register(view.into()))
    }

    fn side_regs(&self, id: CkptId, frame: u8, side: Side) -> Option<[PackedReg; 11]> {
        let at = usize::from(frame);
        match side {
            Side::Saved => {
                Some(self.store.arena.frame(*self.store.ckpts.get(id).state.frames.get(at)?).regs)
            }
            Side::Current => Some(*self.walk.cur.frames.get(at)?.names()),
        }
    }

    fn side_slot(&self, id: CkptId, frame: u8, spi: u8, side: Side) -> Option<Slot> {
        let (at, spi) = (usize::from(frame), usize::from(spi));
        match side {
            Side::Saved => {
                let frame = *self.store.ckpts.get(id).state.frames.get(at)?;
                self.store.arena.frame_slot(frame, spi).copied()
            }
            Side::Current => self.walk.cur.frames.get(at)?.slot(spi).copied(),
        }
    }
}

/// The types of a slot's bytes, highest address first as in the log.
fn types_text(slot: &Slot) -> String {
    slot.types.iter().rev().map(|&ty| slot_char(ty)).collect()
}
