//! Values in the current state that are precise, on kernels that mark them there, too.
//!
//! Up to 6.5 a register that is loaded from zeros on the stack is marked as precise. Copies, spills
//! and results of arithmetic keep the mark, until a state is saved; and what is combined with a
//! marked value becomes precise at once.
//!
//! On 5.13, 5.19 and the first builds of 5.15 and 6.1 every register that is made precise is marked
//! in the current state, too. The marks stay when a state is saved, which has them from the
//! beginning, and a value that is precise in the current state must be covered like one that is
//! precise in the saved state.
//!
//! Source: logs of those kernels, which print the mark (`invP`, `P`).

use super::backtrack::fetched;
use super::backtrack_state::bits;
use crate::check;
use crate::check::linked_regs::Linked;
use crate::env::Env;
use crate::explore::next::Next;
use crate::rejection::Check;
use crate::state::arena::PackedReg;
use crate::state::checkpoint::Marks;
use crate::state::ids::CkptId;
use crate::state::reg::Reg;
use crate::state::reg_type::Base;
use crate::state::stack::spi_of;
use crate::state::values::SCALAR;
use skep_insn::Insn;
use skep_insn::code::*;
use skep_uapi::limits::MAX_BPF_STACK_BYTES;

/// What an insn finds before it is walked.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    /// Whether its source is marked: a register, or the slot that it loads.
    src: bool,
    /// Whether it loads data from the stack: zeros give a marked register.
    data: bool,
    /// The slot that it stores to.
    stored: Option<(usize, usize)>,
    /// Whether its second operand is known.
    known: bool,
}

impl Env<'_> {
    /// Walks one insn.
    #[inline(never)]
    pub(crate) fn check_insn_marking(&mut self) -> Check<Next> {
        let (insn, frames) = (self.insn(), self.walk.cur.frames.len());
        if usize::from(insn.dst.max(insn.src)) >= self.walk.frame().names().len() {
            // Refused: there is no such register.
            return check::do_check_insn(self);
        }
        let before = self.before_marking(insn)?;
        let next = check::do_check_insn(self)?;
        if next != Next::PathEnd {
            self.after_marking(insn, frames, before);
        }
        Ok(next)
    }

    /// Before an insn is walked: what is combined with a marked value becomes precise.
    fn before_marking(&mut self, insn: Insn) -> Check<Before> {
        let Some(current) = &self.store.current_marks else { return Ok(Before::default()) };
        let frame = self.walk.cur.curframe() as usize;
        let marks = current.of(frame);
        let is_marked = |reg: u8| marks.regs >> reg & 1 == 1;
        let known = !insn.is_src_reg() || self.reg(insn.src).val.is_const();
        let mut before = Before { src: is_marked(insn.src), known, ..Before::default() };
        let place = |env: &Self, reg: u8| {
            let base = env.reg(reg);
            let is_stack = base.ty.is(Base::Stack) && base.val.is_const();
            let off = base.off.wrapping_add(base.val.var_off.value as i32);
            let off = off.wrapping_add(i32::from(insn.off));
            let fits =
                is_stack && off % 8 == 0 && (-(MAX_BPF_STACK_BYTES as i32)..0).contains(&off);
            fits.then(|| (base.frameno() as usize, spi_of(off)))
        };
        match insn.class() {
            BPF_ALU | BPF_ALU64 if combines(insn) && self.facts.rules().sources_precise => {
                let scalars = self.reg(insn.dst).is_scalar() && self.reg(insn.src).is_scalar();
                if scalars && is_marked(insn.dst) {
                    self.mark_chain_precision(insn.src)?;
                }
            }
            BPF_LDX => {
                let loaded = place(self, insn.src).filter(|&(frame, spi)| {
                    let slot = self.walk.slot(frame as u32, spi);
                    slot.is_spilled() && slot.spilled_bytes() == insn.size_bytes() as i32
                });
                let is_held = |(frame, spi): (usize, usize)| {
                    self.store
                        .current_marks
                        .as_ref()
                        .is_some_and(|it| it.of(frame).stack >> spi & 1 == 1)
                };
                before.src = loaded.is_some_and(is_held);
                before.data = loaded.is_none() && self.reg(insn.src).ty.is(Base::Stack);
            }
            BPF_STX | BPF_ST => {
                before.stored = place(self, insn.dst);
                before.src &= insn.class() == BPF_STX;
            }
            _ => {}
        }
        Ok(before)
    }

    /// After it, `frames` frames having been there before.
    fn after_marking(&mut self, insn: Insn, frames: usize, before: Before) {
        let now = self.walk.cur.frames.len();
        let result = self.reg(insn.dst);
        let is_unknown = result.val == Reg::unknown().val;
        let is_scalar = result.is_scalar();
        let Some(current) = &mut self.store.current_marks else { return };
        let (frame, was) = (now - 1, frames - 1);
        if now > frames {
            let regs = current.of(was).regs & 0x3e;
            *current.at(frame) = Marks { regs, stack: 0 };
            return;
        }
        if now < frames {
            let is_marked = current.of(was).regs & 1 == 1;
            current.leave(now);
            current.at(frame).regs &= !0x3f;
            current.set(frame, 0, is_marked);
            return;
        }
        match insn.class() {
            BPF_ALU | BPF_ALU64 => {
                let keeps = match insn.op() {
                    BPF_ADD | BPF_SUB | BPF_AND => true,
                    BPF_MUL | BPF_OR | BPF_XOR if before.known => true,
                    _ => !is_unknown,
                };
                let is_marked = match insn.op() {
                    BPF_MOV => insn.is_src_reg() && before.src,
                    BPF_DIV | BPF_MOD | BPF_NEG | BPF_END => false,
                    _ => keeps && is_scalar && current.of(frame).regs >> insn.dst & 1 == 1,
                };
                current.set(frame, insn.dst, is_marked);
            }
            BPF_LDX => {
                current.set(frame, insn.dst, before.src || before.data && result.is_null());
            }
            BPF_STX | BPF_ST => {
                if let Some((frame, spi)) = before.stored {
                    // The store itself may have marked it.
                    let stays = current.stay && insn.class() == BPF_STX;
                    let is_marked =
                        before.src || stays && current.of(now - 1).regs >> insn.src & 1 == 1;
                    let marks = current.at(frame);
                    marks.stack = marks.stack & !(1 << spi) | u64::from(is_marked) << spi;
                }
                if insn.mode() == BPF_ATOMIC
                    && let Some(reg) = fetched(insn)
                {
                    current.set(frame, reg, false);
                }
            }
            BPF_LD => current.set(frame, insn.dst, false),
            BPF_JMP if insn.op() == BPF_CALL => current.at(frame).regs &= !0x3f,
            _ => {}
        }
    }
}

/// Kernels whose marks stay when a state is saved.
impl Env<'_> {
    /// Marks a register of the current frame; whether it was marked before.
    #[cold]
    pub(super) fn mark_current(&mut self, regno: u8) -> bool {
        let frame = self.walk.cur.curframe() as usize;
        self.store.current_marks.as_deref_mut().filter(|it| it.stay).is_some_and(|marks| {
            let was_marked = marks.of(frame).regs >> regno & 1 == 1;
            marks.set(frame, regno, true);
            was_marked
        })
    }

    /// Where backtracking gives up before it has left the current state, all of that is precise.
    #[cold]
    pub(super) fn mark_current_scalars(&mut self) {
        let Some(marks) = self.store.current_marks.as_deref_mut().filter(|it| it.stay) else {
            return;
        };
        for (at, frame) in self.walk.cur.frames.iter().enumerate() {
            let is_scalar = |reg: PackedReg| self.store.arena.is(reg, SCALAR);
            let regs = (0..10).filter(|&r| is_scalar(frame.name(r)));
            let slots = frame.slots().iter().enumerate();
            let slots = slots.filter(|(_, slot)| slot.is_spilled() && is_scalar(slot.spill));
            *marks.at(at) = Marks {
                regs: regs.fold(0, |all, r| all | 1 << r),
                stack: slots.fold(0, |all, (spi, _)| all | 1 << spi),
            };
        }
    }

    /// Those of the registers and slots that hold scalars in a frame of a checkpoint.
    #[cold]
    pub(super) fn scalars_of(&self, id: CkptId, frame: usize, among: Marks) -> Marks {
        let arena = &self.store.arena;
        let frame_id = self.store.ckpts.get(id).state.frames[frame];
        let saved = arena.frame(frame_id).regs;
        let is_scalar = |r: &u32| arena.is(saved[*r as usize], SCALAR);
        let is_number = |spi: &u32| {
            let slot = arena.frame_slot(frame_id, *spi as usize);
            slot.is_some_and(|slot| slot.is_spilled() && arena.is(slot.spill, SCALAR))
        };
        let regs = bits(among.regs.into()).filter(is_scalar);
        let slots = bits(among.stack).filter(is_number);
        Marks {
            regs: regs.fold(0, |all, r| all | 1 << r),
            stack: slots.fold(0, |all, spi| all | 1 << spi),
        }
    }

    /// Propagates the marks of a checkpoint to the current state: each register and slot of the
    /// last frame that is not marked there is followed on its own.
    pub(super) fn propagate_one_by_one(&mut self, old: CkptId) -> Check<bool> {
        let marks = &self.store.ckpts.get(old).precise;
        let frame = marks.len() - 1;
        let marked = self.scalars_of(old, frame, marks[frame]);
        for regno in bits(marked.regs.into()).map(|r| r as u8) {
            if self.store.arena.is(self.walk.frame().name(regno), SCALAR) {
                self.mark_chain_precision(regno)?;
            }
        }
        for spi in bits(marked.stack).map(|spi| spi as usize) {
            let Some(current) = &mut self.store.current_marks else { break };
            let marks = current.at(frame);
            if marks.stack >> spi & 1 == 0 {
                marks.stack |= 1 << spi;
                self.walk.bt.reset();
                self.walk.bt.frame = frame;
                self.walk.bt.set_frame_slot(frame, spi);
                self.mark_chain_precision_batch(None)?;
            }
        }
        Ok(true)
    }

    /// Before a jump that bounds registers together: those get the mark of the operand, too.
    #[cold]
    pub(crate) fn mark_linked(&mut self, insn: Insn, linked: &Linked) {
        let Some(marks) = self.store.current_marks.as_deref_mut().filter(|it| it.stay) else {
            return;
        };
        let frame = self.walk.cur.curframe() as usize;
        for regno in [insn.src, insn.dst] {
            let known = self.walk.frame().name(regno);
            if known.id == 0 || regno == insn.src && !insn.is_src_reg() {
                continue;
            }
            let is_marked = marks.of(frame).regs >> regno & 1 == 1;
            for place in linked.iter().filter(|&place| self.walk.name_at(place).id == known.id) {
                let marks = marks.at(usize::from(place.frameno));
                let bit = u64::from(is_marked) << place.at;
                match place.is_reg {
                    true => marks.regs = marks.regs & !(1 << place.at) | bit as u16,
                    false => marks.stack = marks.stack & !(1 << place.at) | bit,
                }
            }
        }
    }
}

/// Whether the insn computes its result from two registers.
fn combines(insn: Insn) -> bool {
    insn.is_src_reg() && !matches!(insn.op(), BPF_MOV | BPF_NEG | BPF_END)
}
