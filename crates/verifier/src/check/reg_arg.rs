//! Whether an insn may read or write a register.
//!
//! Kernel: `check_reg_arg`, `is_pointer_value` (6.18).

use crate::env::{Env, Store};
use crate::log::note::Note;
use crate::rejection::{Check, InsnFault, Regno, reject};
use crate::state::arena::PackedReg;
use crate::state::frame::Frame;
use crate::state::reads::FrameReg;
use crate::state::reg::Reg;
use crate::state::reg_type::Base;
use skep_insn::Insn;
use skep_insn::code::{BPF_ALU, BPF_ALU64, BPF_MOV};

/// What the insn does with the register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    /// Reads it.
    Src,
    /// Overwrites it with something unknown.
    Dst,
    /// Overwrites it; the caller says with what.
    DstNoMark,
}

impl Env<'_> {
    /// Checks the use of register `regno` as `operand`. The register is printed with the next
    /// state.
    pub(crate) fn check_reg_arg(&mut self, regno: u8, operand: Operand) -> Check {
        if regno > 10 {
            reject!(EINVAL, InsnFault::NoSuchReg { regno: Regno(regno) });
        }
        self.walk.scratched_regs |= 1 << regno;
        if operand == Operand::Src {
            if self.reg(regno).ty.base == Base::NotInit {
                reject!(EACCES, InsnFault::Uninit { regno: Regno(regno) });
            }
            self.note_read(regno);
            return Ok(());
        }
        if regno == 10 {
            reject!(EACCES, InsnFault::FramePointer);
        }
        self.note_write(regno);
        if operand == Operand::Dst {
            self.walk.set_name(regno, PackedReg::UNKNOWN);
        }
        Ok(())
    }

    /// The insn reads a register of the current frame.
    #[inline]
    pub(crate) fn note_read(&mut self, regno: u8) {
        if self.store.reads.is_some() {
            self.mark(&[regno], &[]);
        }
    }

    /// The insn overwrites a register of the current frame.
    #[inline]
    pub(crate) fn note_write(&mut self, regno: u8) {
        if self.store.reads.is_some() {
            self.mark(&[], &[regno]);
        }
    }

    /// The insn reads its operands; for ALU insns and conditional jumps.
    #[inline]
    pub(crate) fn note_operands(&mut self, insn: Insn) {
        if self.store.reads.is_some() {
            self.mark_operands(insn);
        }
    }

    #[inline(never)]
    fn mark_operands(&mut self, insn: Insn) {
        if insn.is_src_reg() {
            self.mark(&[insn.src], &[]);
        }
        match insn.class() {
            BPF_ALU | BPF_ALU64 if insn.op() == BPF_MOV => self.mark(&[], &[insn.dst]),
            BPF_ALU | BPF_ALU64 => self.mark(&[insn.dst], &[insn.dst]),
            _ => self.mark(&[insn.dst], &[]),
        }
    }

    #[inline(never)] // Not needed for most kernels.
    fn mark(&mut self, read: &[u8], written: &[u8]) {
        let Some(reads) = &mut self.store.reads else { return };
        let frame = self.walk.cur.frames.len() - 1;
        read.iter().for_each(|&regno| reads.read_reg(frame, regno));
        written.iter().for_each(|&regno| reads.write_reg(frame, regno));
    }

    /// Register `from` of the current frame is argument `to` of a callee.
    pub(crate) fn pass_arg(&mut self, callee: &mut Frame, to: u8, from: u8) {
        let depth = self.walk.cur.frames.len();
        callee.set_name(to, self.walk.cur.frame().name(from));
        if let Some(reads) = &mut self.store.reads {
            let caller = FrameReg { frame: depth - 1, regno: from };
            reads.pass(caller, FrameReg { frame: depth, regno: to });
        }
    }

    /// Whether the register holds a pointer whose value the program must not learn.
    pub(crate) fn is_pointer_value(&self, regno: u8) -> bool {
        !self.facts.allow_ptr_leaks && !self.reg(regno).is_scalar()
    }

    /// Resets contradictory bounds, or refuses the program if invariants are to be tested.
    ///
    /// Kernel: `reg_bounds_sanity_check` (6.18).
    pub(crate) fn sane_bounds(&mut self, reg: &mut Reg, context: &'static str) -> Check {
        if reg.val.violated_rule().is_none() {
            return Ok(());
        }
        if let Some(violation) = reg.val.violation() {
            let violation = violation.to_string().into();
            let kind = InsnFault::Invariants { context, violation };
            if self.facts.test_reg_invariants {
                reject!(EFAULT, kind);
            }
            self.trace.note(Note::Overruled { fault: &kind });
        }
        reg.val.mark_unbounded();
        Ok(())
    }
}

impl Store {
    /// Passes R0 of the current frame to the caller.
    pub(crate) fn pass_result(&mut self, caller: usize) {
        if let Some(reads) = &mut self.reads {
            let callee = FrameReg { frame: caller + 1, regno: 0 };
            reads.pass(callee, FrameReg { frame: caller, regno: 0 });
        }
    }
}

/// Makes R0 to R5 of the current frame unreadable.
///
/// Kernel: `clear_caller_saved_regs` (6.18).
#[inline]
pub(crate) fn clear_caller_saved_regs(env: &mut Env<'_>) {
    for regno in 0..6 {
        env.walk.set_name(regno, PackedReg::NOT_INIT);
        env.note_write(regno);
    }
}
