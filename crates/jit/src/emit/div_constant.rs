//! Unsigned division by a constant, by the plan of `opt::magic`.

use super::Emit;
use super::alu::is_i8;
use crate::asm::{Operands, Rm, Width, X86, forms};
use crate::op::{DivOp, Reg};
use crate::opt::magic::{Plan, plan};
use crate::regs::{SCRATCH, SCRATCH2, x86};

impl Emit<'_> {
    /// Returns whether the division was emitted.
    pub(super) fn by_constant(&mut self, op: DivOp, width: Width, to: X86, imm: i32) -> bool {
        let modulo = op == DivOp::Mod;
        if imm == 0 || !(modulo || op == DivOp::Div) {
            return false;
        }
        let (bits, divisor) = match width {
            Width::W32 => (32, u64::from(imm as u32)),
            Width::W64 => (64, i64::from(imm) as u64),
        };
        if width == Width::W64 && !self.unit.tuning.cpu.bmi2 && !divisor.is_power_of_two() {
            return false;
        }
        let quotient = match plan(bits, divisor) {
            Plan::Shift(by) => {
                self.by_power(modulo, width, to, by);
                return true;
            }
            Plan::Multiply { by, shift } => {
                self.mulhi(width, to, by, shift);
                SCRATCH
            }
            Plan::MultiplyAdd { by, shift } => {
                self.mulhi(width, to, by, 0);
                self.asm.rr(&forms::MOV_RM, width, SCRATCH2, to);
                self.asm.rr(&forms::SUB_RM, width, SCRATCH2, SCRATCH);
                self.shift_right(width, SCRATCH2, 1);
                self.asm.rr(&forms::ADD_RM, width, SCRATCH2, SCRATCH);
                self.shift_right(width, SCRATCH2, shift);
                SCRATCH2
            }
        };
        if modulo {
            let form = if is_i8(imm) { &forms::IMUL_I8 } else { &forms::IMUL_I32 };
            self.asm.ri(form, width, quotient, i64::from(imm));
            self.asm.rr(&forms::SUB_RM, width, to, quotient);
        } else {
            self.asm.rr(&forms::MOV_RM, width, to, quotient);
        }
        true
    }

    fn shift_right(&mut self, width: Width, reg: X86, by: u32) {
        if by > 0 {
            self.asm.ri(&forms::SHR_I8, width, reg, i64::from(by));
        }
    }

    /// Division by the power of two that shifts by `by`.
    fn by_power(&mut self, modulo: bool, width: Width, to: X86, by: u32) {
        if !modulo {
            self.shift_right(width, to, by);
            if by == 0 && width == Width::W32 {
                self.asm.rr(&forms::MOV_RM, width, to, to);
            }
            return;
        }
        self.ld_imm(SCRATCH, (1 << by) - 1);
        self.asm.rr(&forms::AND_RM, width, to, SCRATCH);
    }

    /// The upper half of `x * by`, shifted, in `r11`; clobbers `r10`.
    fn mulhi(&mut self, width: Width, x: X86, by: u64, shift: u32) {
        if width == Width::W32 {
            self.asm.rr(&forms::MOV_RM, Width::W32, SCRATCH, x);
            match i32::try_from(by) {
                Ok(by) => self.asm.ri(&forms::IMUL_I32, Width::W64, SCRATCH, i64::from(by)),
                Err(_) => {
                    self.ld_imm(SCRATCH2, by);
                    self.asm.rr(&forms::IMUL_RM, Width::W64, SCRATCH, SCRATCH2);
                }
            }
            self.shift_right(Width::W64, SCRATCH, 32 + shift);
            return;
        }
        // One factor is always in `rdx`, which is saved in `r9` if it is not the dividend.
        let keep = x != X86::RDX && !self.unit.flow.is_dead_after(self.at, Reg::R3);
        if keep {
            self.asm.rr(&forms::MOV_RM, Width::W64, X86::R9, X86::RDX);
        }
        if x != X86::RDX {
            self.asm.rr(&forms::MOV_RM, Width::W64, X86::RDX, x);
        }
        self.ld_imm(SCRATCH2, by);
        let rm = Rm::Reg(SCRATCH2);
        let mulx = Operands { width, reg: SCRATCH, vvvv: SCRATCH2, rm, imm: 0 };
        self.asm.insn(&forms::MULX, mulx);
        if keep {
            self.asm.rr(&forms::MOV_RM, Width::W64, X86::RDX, X86::R9);
        }
        self.shift_right(width, SCRATCH, shift);
        debug_assert_eq!(x86(Reg::R3), X86::RDX);
    }
}
