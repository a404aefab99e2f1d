//! Tracks the register that the flags describe: comparing it with 0 needs no insn.

use super::Emit;
use crate::asm::{Cc, Width};
use crate::op::{AluOp, Cond, Op, Reg, ShiftOp, Src, Test};
use crate::regs::x86;

impl Emit<'_> {
    /// The condition equivalent to the test, if the flags are already set for it.
    pub(super) fn tested(&self, test: Test) -> Option<Cc> {
        let (reg, width) = self.flags?;
        if test.b != Src::Imm(0) || test.a == Reg::FP || x86(test.a) != reg {
            return None;
        }
        let same = width == test.width;
        // A 32-bit result is 0 exactly if its extension is.
        let zero = same || width == Width::W32;
        match test.cond {
            Cond::Eq if zero => Some(Cc::E),
            Cond::Ne if zero => Some(Cc::NE),
            Cond::SLt if same => Some(Cc::S),
            Cond::SGe if same => Some(Cc::NS),
            _ => None,
        }
    }

    /// What the flags describe after `op`.
    pub(super) fn note_flags(&mut self, op: Op) {
        self.flags = match op {
            Op::Alu { op: AluOp::Mul, .. } => None,
            Op::Alu { width, dst, .. } | Op::Neg { width, dst } => Some((x86(dst), width)),
            Op::Shift { op: ShiftOp::Rol, .. } => None,
            Op::Shift { width, dst, src, by: Src::Imm(by), .. } if src == dst && by != 0 => {
                Some((x86(dst), width))
            }
            // Insns that preserve flags; 0 is loaded with `xor`.
            Op::Nop | Op::Store { big: false, src: Src::Reg(_), .. } => self.flags,
            Op::Lea { dst, .. }
            | Op::Mov { dst, src: Src::Reg(_), .. }
            | Op::Load { big: false, dst, .. }
            | Op::Zext { dst, .. }
            | Op::MovSx { dst, .. } => self.flags.filter(|(reg, _)| *reg != x86(dst)),
            _ => None,
        };
    }
}
