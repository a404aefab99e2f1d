//! Arithmetic, logic, shifts, moves, byte swaps.

use super::{Emit, Operand};
use crate::Error;
use crate::asm::{Form, Mem, Operands, Rm, Width, X86, forms};
use crate::op::{Addr, AluOp, Multiple, Reg, Shift, ShiftOp, Size, Src};
use crate::opt::products::terms;
use crate::regs::{SCRATCH, x86};

/// The forms of an operation: `reg, rm`; `rm, reg`; `rm, imm8`; `rm, imm32`.
pub(super) struct AluForms {
    pub(super) rm: &'static Form,
    pub(super) mr: &'static Form,
    pub(super) i8: &'static Form,
    pub(super) i32: &'static Form,
}

/// `None` for multiplication, whose forms are others.
pub(super) fn alu_forms(op: AluOp) -> Option<AluForms> {
    use forms::*;
    Some(match op {
        AluOp::Add => AluForms { rm: &ADD_RM, mr: &ADD_MR, i8: &ADD_I8, i32: &ADD_I32 },
        AluOp::Sub => AluForms { rm: &SUB_RM, mr: &SUB_MR, i8: &SUB_I8, i32: &SUB_I32 },
        AluOp::Or => AluForms { rm: &OR_RM, mr: &OR_MR, i8: &OR_I8, i32: &OR_I32 },
        AluOp::And => AluForms { rm: &AND_RM, mr: &AND_MR, i8: &AND_I8, i32: &AND_I32 },
        AluOp::Xor => AluForms { rm: &XOR_RM, mr: &XOR_MR, i8: &XOR_I8, i32: &XOR_I32 },
        AluOp::Mul => return None,
    })
}

/// Whether an immediate fits in a sign-extended byte.
pub(super) fn is_i8(imm: i32) -> bool {
    i8::try_from(imm).is_ok()
}

impl Emit<'_> {
    /// `form reg, rm`.
    pub(super) fn reg_rm(&mut self, form: &Form, width: Width, reg: X86, rm: Rm) {
        self.asm.insn(form, Operands { width, reg, vvvv: X86::RAX, rm, imm: 0 });
    }

    pub(super) fn mov(&mut self, width: Width, dst: Reg, src: Src) {
        let to = x86(dst);
        match src {
            Src::Imm(imm) if width == Width::W32 => self.ld_imm(to, u64::from(imm as u32)),
            Src::Imm(imm) => self.ld_imm(to, i64::from(imm) as u64),
            Src::Reg(Reg::FP) if width == Width::W64 => {
                self.lea(width, dst, Addr::sum(Reg::FP, None, 0));
            }
            Src::Reg(reg) => {
                let from = self.read(reg, SCRATCH);
                if from != to || width == Width::W32 {
                    self.asm.rr(&forms::MOV_RM, width, to, from);
                }
            }
            Src::Mem(addr) => {
                let mem = self.mem(addr);
                self.asm.rm(&forms::MOV_RM, width, to, mem);
            }
        }
    }

    /// The shortest insn that loads `value`.
    pub(super) fn ld_imm(&mut self, to: X86, value: u64) {
        if value == 0 {
            self.asm.rr(&forms::XOR_RM, Width::W32, to, to);
        } else if let Ok(low) = u32::try_from(value) {
            self.asm.ri(&forms::MOV_I32, Width::W32, to, i64::from(low as i32));
        } else if i32::try_from(value as i64).is_ok() {
            self.asm.ri(&forms::MOV_MI, Width::W64, to, value as i64);
        } else {
            self.asm.ri(&forms::MOV_I64, Width::W64, to, value as i64);
        }
    }

    pub(super) fn alu(&mut self, op: AluOp, width: Width, dst: Reg, src: Src) {
        let to = x86(dst);
        let Some(forms) = alu_forms(op) else { return self.mul(width, to, src) };
        match self.operand(src) {
            Operand::Imm(imm) => {
                let form = if is_i8(imm) { forms.i8 } else { forms.i32 };
                self.asm.ri(form, width, to, i64::from(imm));
            }
            Operand::Rm(rm) => self.reg_rm(forms.rm, width, to, rm),
        }
    }

    fn mul(&mut self, width: Width, to: X86, src: Src) {
        match self.operand(src) {
            Operand::Imm(imm)
                if self.unit.tuning.passes.products && self.small_product(width, to, imm) => {}
            Operand::Imm(imm) => {
                let form = if is_i8(imm) { &forms::IMUL_I8 } else { &forms::IMUL_I32 };
                self.asm.ri(form, width, to, i64::from(imm));
            }
            Operand::Rm(rm) => self.reg_rm(&forms::IMUL_RM, width, to, rm),
        }
    }

    /// Multiplication by three, five or nine; returns whether `times` is one of them.
    fn small_product(&mut self, width: Width, to: X86, times: i32) -> bool {
        let scale = match times {
            3 => 1,
            5 => 2,
            9 => 3,
            _ => return false,
        };
        let mem = Mem { base: to, index: Some((to, scale)), disp: 0 };
        self.asm.rm(&forms::LEA, width, to, mem);
        true
    }

    /// `dst = multiple + plus`: `src` shifted, plus the rest of the sum.
    pub(super) fn product(
        &mut self,
        width: Width,
        dst: Reg,
        multiple: Multiple,
        plus: Src,
    ) -> Result<(), Error> {
        let Multiple { src, by } = multiple;
        let Some((shift, less)) = terms(by) else { return self.bug("a product of no two terms") };
        let joins = if less { &forms::SUB_RM } else { &forms::ADD_RM };
        let (to, from) = (x86(dst), x86(src));
        let shifted = i64::from(shift);
        if plus == Src::Imm(0) || plus == Src::Reg(dst) {
            // The value added or subtracted is in `dst`, or is its old value.
            self.asm.rr(&forms::MOV_RM, width, SCRATCH, from);
            let (high, low) = if src == dst { (to, SCRATCH) } else { (SCRATCH, from) };
            self.asm.ri(&forms::SHL_I8, width, high, shifted);
            self.asm.rr(joins, width, to, low);
            if src != dst {
                self.asm.rr(&forms::ADD_RM, width, to, high);
            }
            return Ok(());
        }
        if src != dst {
            return self.bug("a product that nothing of is in place");
        }
        match plus {
            Src::Reg(reg) if !less => {
                let mem = Mem { base: x86(reg), index: Some((from, 0)), disp: 0 };
                self.asm.rm(&forms::LEA, width, SCRATCH, mem);
            }
            Src::Imm(imm) if !less => {
                let mem = Mem { base: from, index: None, disp: imm };
                self.asm.rm(&forms::LEA, width, SCRATCH, mem);
            }
            _ => {
                match self.operand(plus) {
                    Operand::Imm(imm) => self.ld_imm(SCRATCH, i64::from(imm) as u64),
                    Operand::Rm(rm) => self.reg_rm(&forms::MOV_RM, width, SCRATCH, rm),
                }
                self.asm.rr(joins, width, SCRATCH, from);
            }
        }
        self.asm.ri(&forms::SHL_I8, width, to, shifted);
        self.asm.rr(&forms::ADD_RM, width, to, SCRATCH);
        Ok(())
    }

    pub(super) fn lea(&mut self, width: Width, dst: Reg, addr: Addr) {
        let mem = self.mem(addr);
        if mem.index.is_none() && mem.disp == 0 {
            return self.asm.rr(&forms::MOV_RM, width, x86(dst), mem.base);
        }
        self.asm.rm(&forms::LEA, width, x86(dst), mem);
    }

    pub(super) fn shift(&mut self, shift: Shift, dst: Reg, src: Reg, by: Src) -> Result<(), Error> {
        let to = x86(dst);
        match by {
            Src::Imm(imm) => {
                let from = self.read(src, SCRATCH);
                self.shift_by(shift, to, from, imm);
            }
            Src::Reg(by) => self.shift_by_reg(shift, to, src, by),
            Src::Mem(_) => return self.bug("a shift by what is in memory"),
        }
        Ok(())
    }

    fn shift_by(&mut self, shift: Shift, to: X86, from: X86, imm: i32) {
        let Shift { op, width } = shift;
        if op == ShiftOp::Rol && from != to && self.unit.tuning.cpu.bmi2 {
            let bits = if width == Width::W64 { 64 } else { 32 };
            let imm = i64::from(bits - imm);
            let rm = Rm::Reg(from);
            let operands = Operands { width, reg: to, vvvv: X86::RAX, rm, imm };
            return self.asm.insn(&forms::RORX, operands);
        }
        if from != to {
            self.asm.rr(&forms::MOV_RM, width, to, from);
        }
        if imm == 0 {
            if from == to && width == Width::W32 {
                self.asm.rr(&forms::MOV_RM, width, to, to);
            }
            return;
        }
        let form = match op {
            ShiftOp::Shl if imm == 1 => {
                return self.asm.rr(&forms::ADD_RM, width, to, to);
            }
            ShiftOp::Shl => &forms::SHL_I8,
            ShiftOp::Shr => &forms::SHR_I8,
            ShiftOp::Sar => &forms::SAR_I8,
            ShiftOp::Rol => &forms::ROL_I8,
        };
        self.asm.ri(form, width, to, i64::from(imm));
    }

    fn shift_by_reg(&mut self, shift: Shift, to: X86, src: Reg, by: Reg) {
        let Shift { op, width } = shift;
        let vex = match op {
            ShiftOp::Shl => Some(&forms::SHLX),
            ShiftOp::Shr => Some(&forms::SHRX),
            ShiftOp::Sar => Some(&forms::SARX),
            ShiftOp::Rol => None,
        };
        if let Some(form) = vex.filter(|_| self.unit.tuning.cpu.bmi2) {
            // At most one of the two can be r10, which is only read here.
            let from = self.read(src, SCRATCH);
            let vvvv = self.read(by, crate::regs::SCRATCH2);
            let rm = Rm::Reg(from);
            return self.asm.insn(form, Operands { width, reg: to, vvvv, rm, imm: 0 });
        }
        let form = match op {
            ShiftOp::Shl => &forms::SHL_CL,
            ShiftOp::Shr => &forms::SHR_CL,
            ShiftOp::Sar => &forms::SAR_CL,
            ShiftOp::Rol => &forms::ROL_CL,
        };
        // The value is moved to r11, the count to cl, whose old value is saved in r10.
        let from = self.read(src, SCRATCH);
        self.asm.rr(&forms::MOV_RM, width, SCRATCH, from);
        let by = self.read(by, crate::regs::SCRATCH2);
        if by == X86::RCX {
            self.asm.r(form, width, SCRATCH);
        } else {
            self.asm.rr(&forms::XCHG_MR, Width::W64, by, X86::RCX);
            self.asm.r(form, width, SCRATCH);
            self.asm.rr(&forms::XCHG_MR, Width::W64, by, X86::RCX);
        }
        self.asm.rr(&forms::MOV_RM, width, to, SCRATCH);
    }

    pub(super) fn swap(&mut self, size: Size, to: X86) {
        match size {
            Size::B8 => self.asm.r(&forms::BSWAP, Width::W64, to),
            Size::B4 => self.asm.r(&forms::BSWAP, Width::W32, to),
            _ => {
                self.asm.ri(&forms::ROR16_I8, Width::W32, to, 8);
                self.asm.rr(&forms::MOVZX16, Width::W32, to, to);
            }
        }
    }

    pub(super) fn zext(&mut self, size: Size, dst: Reg, src: Reg) {
        let (to, from) = (x86(dst), self.read(src, SCRATCH));
        let (form, width) = match size {
            Size::B1 => (&forms::MOVZX8, Width::W32),
            Size::B2 => (&forms::MOVZX16, Width::W32),
            Size::B4 => (&forms::MOV_RM, Width::W32),
            Size::B8 => (&forms::MOV_RM, Width::W64),
        };
        self.asm.rr(form, width, to, from);
    }

    pub(super) fn movsx(&mut self, size: Size, width: Width, dst: Reg, src: Reg) {
        let (to, from) = (x86(dst), self.read(src, SCRATCH));
        let form = match size {
            Size::B1 => &forms::MOVSX8,
            Size::B2 => &forms::MOVSX16,
            Size::B4 => &forms::MOVSXD,
            Size::B8 => &forms::MOV_RM,
        };
        self.asm.rr(form, width, to, from);
    }
}
