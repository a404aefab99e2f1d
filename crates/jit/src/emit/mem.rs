//! Loads and stores.

use super::Emit;
use super::alu::{alu_forms, is_i8};
use crate::Error;
use crate::asm::{Form, Mem, Width, X86, forms};
use crate::op::{Addr, AluOp, Loaded, Reg, Size, Src};
use crate::opt::fills::BLOCK;
use crate::regs::{SCRATCH, SCRATCH2, x86};

/// A 16-byte register, by its number: the form determines its kind.
const XMM0: X86 = X86(0);
/// Call-clobbered registers that an op may have as operands; plus one more word.
const KEPT: [X86; 8] =
    [X86::RAX, X86::RDI, X86::RSI, X86::RDX, X86::RCX, X86::R8, X86::R9, X86::R10];

/// Width of the forms for a size of 4 or 8 bytes; smaller ones have forms of their own.
fn width_of(size: Size) -> Width {
    match size {
        Size::B8 => Width::W64,
        _ => Width::W32,
    }
}

fn load_form(size: Size, sign: bool) -> (&'static Form, Width) {
    match (size, sign) {
        (Size::B1, false) => (&forms::MOVZX8, Width::W32),
        (Size::B2, false) => (&forms::MOVZX16, Width::W32),
        (Size::B4, false) => (&forms::MOV_RM, Width::W32),
        (Size::B8, _) => (&forms::MOV_RM, Width::W64),
        (Size::B1, true) => (&forms::MOVSX8, Width::W64),
        (Size::B2, true) => (&forms::MOVSX16, Width::W64),
        (Size::B4, true) => (&forms::MOVSXD, Width::W64),
    }
}

fn store_form(size: Size) -> &'static Form {
    match size {
        Size::B1 => &forms::MOV8_MR,
        Size::B2 => &forms::MOV16_MR,
        Size::B4 | Size::B8 => &forms::MOV_MR,
    }
}

impl Emit<'_> {
    pub(super) fn load(&mut self, loaded: Loaded, dst: Reg, addr: Addr) {
        let Loaded { size, sign, big } = loaded;
        let (to, mem) = (x86(dst), self.mem(addr));
        let movbe = big && self.has_movbe();
        match size {
            Size::B4 | Size::B8 if movbe => {
                self.asm.rm(&forms::MOVBE_RM, width_of(size), to, mem);
            }
            _ => {
                let (form, width) = load_form(size, sign);
                self.asm.rm(form, width, to, mem);
                match size {
                    // The loaded value has no bits above its two bytes.
                    Size::B2 if big => self.asm.ri(&forms::ROR16_I8, Width::W32, to, 8),
                    _ if big => self.swap(size, to),
                    _ => {}
                }
            }
        }
    }

    /// The host loads, or returns 0. All call-clobbered registers are saved, which keeps `rsp`
    /// aligned as in the frame.
    pub(super) fn probe(
        &mut self,
        size: Size,
        sign: bool,
        dst: Reg,
        addr: Addr,
    ) -> Result<(), Error> {
        let probe = self.unit.linkage.probe;
        if probe == 0 {
            return Err(Error::unsupported(self.at, "loads that may fault"));
        }
        let mem = self.mem(addr);
        self.asm.rm(&forms::LEA, Width::W64, SCRATCH, mem);
        for reg in KEPT {
            self.asm.r(&forms::PUSH, Width::W64, reg);
        }
        self.asm.rr(&forms::MOV_RM, Width::W64, X86::RDI, SCRATCH);
        self.ld_imm(X86::RSI, u64::from(size.bytes()));
        self.call_address(probe);
        self.asm.rr(&forms::MOV_RM, Width::W64, SCRATCH, X86::RAX);
        for reg in KEPT.into_iter().rev() {
            self.asm.r(&forms::POP, Width::W64, reg);
        }
        let (form, width) = match (size, sign) {
            (Size::B1, true) => (&forms::MOVSX8, Width::W64),
            (Size::B2, true) => (&forms::MOVSX16, Width::W64),
            (Size::B4, true) => (&forms::MOVSXD, Width::W64),
            _ => (&forms::MOV_RM, Width::W64),
        };
        self.asm.rr(form, width, x86(dst), SCRATCH);
        Ok(())
    }

    pub(super) fn store(
        &mut self,
        size: Size,
        big: bool,
        addr: Addr,
        src: Src,
    ) -> Result<(), Error> {
        let mem = self.mem(addr);
        let from = match src {
            Src::Imm(imm) if !big => {
                self.store_imm(size, mem, imm);
                return Ok(());
            }
            Src::Imm(imm) => {
                self.ld_imm(SCRATCH, i64::from(imm) as u64);
                SCRATCH
            }
            Src::Reg(reg) => self.read(reg, SCRATCH),
            Src::Mem(_) => return self.bug("a store from memory"),
        };
        match big {
            true => self.store_big(size, mem, from),
            false => self.asm.rm(store_form(size), width_of(size), from, mem),
        }
        Ok(())
    }

    /// Zeros; the last store overlaps if the size is not a multiple of the block size.
    pub(super) fn fill(&mut self, addr: Addr, bytes: u32, zeroed: bool) {
        let mem = self.mem(addr);
        if !zeroed {
            self.asm.rr(&forms::XORPS, Width::W32, XMM0, XMM0);
        }
        let blocks = (0..bytes / BLOCK).map(|block| block * BLOCK);
        let rest = (!bytes.is_multiple_of(BLOCK)).then(|| bytes - BLOCK);
        for from in blocks.chain(rest) {
            let mem = Mem { disp: mem.disp + from as i32, ..mem };
            self.asm.rm(&forms::MOVUPS_MR, Width::W32, XMM0, mem);
        }
    }

    fn has_movbe(&self) -> bool {
        self.unit.tuning.cpu.movbe && self.unit.tuning.passes.movbe
    }

    fn store_imm(&mut self, size: Size, mem: Mem, imm: i32) {
        let form = match size {
            Size::B1 => &forms::MOV8_MI,
            Size::B2 => &forms::MOV16_MI,
            Size::B4 | Size::B8 => &forms::MOV_MI,
        };
        self.asm.mi(form, width_of(size), mem, i64::from(imm));
    }

    fn store_big(&mut self, size: Size, mem: Mem, from: X86) {
        let movbe = match size {
            Size::B1 => None,
            Size::B2 => Some(&forms::MOVBE16_MR),
            Size::B4 | Size::B8 => Some(&forms::MOVBE_MR),
        };
        if let Some(form) = movbe.filter(|_| self.has_movbe()) {
            return self.asm.rm(form, width_of(size), from, mem);
        }
        self.asm.rr(&forms::MOV_RM, Width::W64, SCRATCH2, from);
        self.swap(size, SCRATCH2);
        self.asm.rm(store_form(size), width_of(size), SCRATCH2, mem);
    }

    pub(super) fn alu_store(
        &mut self,
        op: AluOp,
        size: Size,
        addr: Addr,
        src: Src,
    ) -> Result<(), Error> {
        let mem = self.mem(addr);
        let Some(forms) = alu_forms(op) else { return self.bug("a multiplication in memory") };
        if !matches!(size, Size::B4 | Size::B8) {
            return self.bug("arithmetic on a part of a word in memory");
        }
        match src {
            Src::Imm(imm) => {
                let form = if is_i8(imm) { forms.i8 } else { forms.i32 };
                self.asm.mi(form, width_of(size), mem, i64::from(imm));
            }
            Src::Reg(reg) => {
                let from = self.read(reg, SCRATCH);
                self.asm.rm(forms.mr, width_of(size), from, mem);
            }
            Src::Mem(_) => return self.bug("both operands in memory"),
        }
        Ok(())
    }
}
