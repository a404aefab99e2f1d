//! Values in the current state that are precise, on kernels that mark them there, too.
//!
//! Up to 6.1 a register that is loaded from zeros on the stack is marked as precise. Copies, spills
//! and results of arithmetic keep the mark, until a state is saved; and what is combined with a
//! marked value becomes precise at once.
//!
//! Source: logs of those kernels, which print the mark (`invP`).

use crate::check;
use crate::env::Env;
use crate::explore::next::Next;
use crate::rejection::Check;
use crate::state::checkpoint::Marks;
use crate::state::reg::Reg;
use crate::state::reg_type::Base;
use crate::state::stack::spi_of;
use skep_insn::Insn;
use skep_insn::code::*;

/// What an insn finds before it is walked.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    /// Whether its source is marked: a register, or the slot that it loads.
    src: bool,
    /// Whether it loads data from the stack: zeros give a marked register.
    data: bool,
    /// The slot that it stores to.
    stored: Option<(usize, usize)>,
}

impl Env<'_> {
    /// Walks one insn.
    #[inline(never)]
    pub(crate) fn check_insn_marking(&mut self) -> Check<Next> {
        let (insn, frames) = (self.insn(), self.walk.cur.frames.len());
        if usize::from(insn.dst.max(insn.src)) >= self.walk.frame().names().len() {
            // Refused, for a register that there is not.
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
        let mut before = Before { src: is_marked(insn.src), ..Before::default() };
        let place = |env: &Self, reg: u8| {
            let base = env.reg(reg);
            let is_stack = base.ty.is(Base::Stack) && base.val.is_const();
            let off = base.off.wrapping_add(base.val.var_off.value as i32);
            let off = off.wrapping_add(i32::from(insn.off));
            let is_whole = |bytes: i32| off % 8 == 0 && (-512..0).contains(&off) && bytes >= 4;
            let fits = is_stack && is_whole(insn.size_bytes() as i32);
            fits.then(|| (base.frameno() as usize, spi_of(off)))
        };
        match insn.class() {
            BPF_ALU | BPF_ALU64 if combines(insn) => {
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
                let keeps = matches!(insn.op(), BPF_ADD | BPF_SUB | BPF_AND) || !is_unknown;
                let is_marked = match insn.op() {
                    BPF_MOV => insn.is_src_reg() && before.src,
                    BPF_DIV | BPF_MOD | BPF_NEG | BPF_END => false,
                    _ => keeps && current.of(frame).regs >> insn.dst & 1 == 1,
                };
                current.set(frame, insn.dst, is_marked);
            }
            BPF_LDX => {
                current.set(frame, insn.dst, before.src || before.data && result.is_null());
            }
            BPF_STX | BPF_ST => {
                if let Some((frame, spi)) = before.stored {
                    let marks = current.at(frame);
                    marks.stack = marks.stack & !(1 << spi) | u64::from(before.src) << spi;
                }
            }
            BPF_LD => current.set(frame, insn.dst, false),
            BPF_JMP if insn.op() == BPF_CALL => current.at(frame).regs &= !0x3f,
            _ => {}
        }
    }
}

/// Whether the insn computes its result from two registers.
fn combines(insn: Insn) -> bool {
    insn.is_src_reg() && !matches!(insn.op(), BPF_MOV | BPF_NEG | BPF_END)
}
