//! Division and remainder. Division by 0 gives 0, the remainder by 0 is the dividend, and the
//! smallest number divided by -1 is itself: the processor would trap.
//!
//! Source: RFC 9669 section 4.1.
//!
//! # Invariants
//! 1. `rax` and `rdx` are preserved unless one is `dst` or dead afterwards; they are saved in `r10`
//!    and `r9`. AX, which is in `r9`, is neither the result of a division nor live after one.

use super::{Emit, ZeroDivisor};
use crate::Error;
use crate::asm::{Cc, Width, X86, forms};
use crate::op::{DivOp, Reg, Src};
use crate::regs::{SCRATCH, SCRATCH2, x86};

/// The register of rewrites.
const AX: Reg = Reg(skep_verifier::AX);

impl Emit<'_> {
    /// Divisions by 0 of the function.
    pub(super) fn zero_divisors(&mut self) {
        for ZeroDivisor { label, at, op, width, to, done } in
            std::mem::take(&mut self.zero_divisors)
        {
            self.asm.span(at);
            self.asm.bind(label);
            self.div_by_zero(op, width, to);
            self.asm.jmp(done);
        }
        self.flags = None;
    }

    pub(super) fn div(&mut self, op: DivOp, width: Width, dst: Reg, src: Src) -> Result<(), Error> {
        let to = x86(dst);
        if dst == AX || !self.unit.flow.is_dead_after(self.at, AX) {
            return Err(Error::unsupported(self.at, "a division while AX is in use"));
        }
        if let Src::Imm(imm) = src
            && self.unit.tuning.passes.magic
            && self.by_constant(op, width, to, imm)
        {
            return Ok(());
        }
        let by = self.divisor(width, src);
        let done = self.asm.label();
        if src == Src::Imm(0) {
            self.div_by_zero(op, width, to);
            return Ok(());
        }
        if !matches!(src, Src::Imm(_)) {
            let label = self.asm.label();
            self.asm.rr(&forms::TEST_MR, width, by, by);
            self.asm.jcc(Cc::E, label);
            self.zero_divisors.push(ZeroDivisor { label, at: self.at, op, width, to, done });
        }
        let signed = matches!(op, DivOp::SDiv | DivOp::SMod);
        if signed && !matches!(src, Src::Imm(imm) if imm != -1) {
            let usual = self.asm.label();
            self.asm.ri(&forms::CMP_I8, width, by, -1);
            self.asm.jcc(Cc::NE, usual);
            match op {
                DivOp::SDiv => self.asm.r(&forms::NEG, width, to),
                _ => self.ld_imm(to, 0),
            }
            self.asm.jmp(done);
            self.asm.bind(usual);
        }
        self.divide(op, width, to, by);
        self.asm.bind(done);
        Ok(())
    }

    /// The divisor in a register other than `rax`, `rdx` or `r9`.
    fn divisor(&mut self, width: Width, src: Src) -> X86 {
        match src {
            Src::Imm(imm) => {
                let value = match width {
                    Width::W32 => u64::from(imm as u32),
                    Width::W64 => i64::from(imm) as u64,
                };
                self.ld_imm(SCRATCH, value);
            }
            Src::Reg(reg) => {
                let by = self.read(reg, SCRATCH);
                if ![X86::RAX, X86::RDX, X86::R9, X86::RSP].contains(&by) {
                    return by;
                }
                self.asm.rr(&forms::MOV_RM, Width::W64, SCRATCH, by);
            }
            Src::Mem(addr) => {
                let mem = self.mem(addr);
                self.asm.rm(&forms::MOV_RM, width, SCRATCH, mem);
            }
        }
        SCRATCH
    }

    fn div_by_zero(&mut self, op: DivOp, width: Width, to: X86) {
        match op {
            DivOp::Div | DivOp::SDiv => self.ld_imm(to, 0),
            DivOp::Mod | DivOp::SMod if width == Width::W32 => {
                self.asm.rr(&forms::MOV_RM, width, to, to);
            }
            DivOp::Mod | DivOp::SMod => {}
        }
    }

    fn divide(&mut self, op: DivOp, width: Width, to: X86, by: X86) {
        let live = |reg: Reg| to != x86(reg) && !self.unit.flow.is_dead_after(self.at, reg);
        let (keep_rax, keep_rdx) = (live(Reg::R0), live(Reg::R3));
        if keep_rax {
            self.asm.rr(&forms::MOV_RM, Width::W64, SCRATCH2, X86::RAX);
        }
        if keep_rdx {
            self.asm.rr(&forms::MOV_RM, Width::W64, X86::R9, X86::RDX);
        }
        if to != X86::RAX {
            self.asm.rr(&forms::MOV_RM, width, X86::RAX, to);
        }
        match op {
            DivOp::Div | DivOp::Mod => {
                self.asm.rr(&forms::XOR_RM, Width::W32, X86::RDX, X86::RDX);
                self.asm.r(&forms::DIV, width, by);
            }
            DivOp::SDiv | DivOp::SMod => {
                self.asm.r(&forms::CDQ, width, X86::RAX);
                self.asm.r(&forms::IDIV, width, by);
            }
        }
        let result = match op {
            DivOp::Div | DivOp::SDiv => X86::RAX,
            DivOp::Mod | DivOp::SMod => X86::RDX,
        };
        if to != result {
            self.asm.rr(&forms::MOV_RM, Width::W64, to, result);
        }
        if keep_rax {
            self.asm.rr(&forms::MOV_RM, Width::W64, X86::RAX, SCRATCH2);
        }
        if keep_rdx {
            self.asm.rr(&forms::MOV_RM, Width::W64, X86::RDX, X86::R9);
        }
    }
}
