//! Encoding of forms: prefixes, REX or VEX, opcode, ModRM, SIB, displacement, immediate.
//!
//! Source: AMD64 Architecture Programmer's Manual volume 3, chapter 1 (instruction encoding).
//!
//! # Invariants
//! 1. The length of an insn depends only on its operands, never on its position.
//! 2. A byte register above `bl` is named with a REX prefix: `sil`, not `dh`.

use super::{Asm, X86};

/// Width of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Width {
    /// 32 bits; writing a register clears its upper half.
    W32,
    /// 64 bits.
    W64,
}

/// The opcode map of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Map {
    /// One byte.
    One,
    /// After `0F`.
    Of,
    /// After `0F 38`.
    Of38,
    /// VEX, map `0F 38`, with the third operand in `vvvv`.
    Vex38,
    /// VEX, map `0F 3A`.
    Vex3a,
}

/// The contents of the `reg` field, and where the register is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A register in `reg`, a register or memory in `rm`.
    Reg,
    /// A digit in `reg`, a register or memory in `rm`.
    Digit(u8),
    /// The register is in the opcode.
    Plus,
    /// No operand except the immediate.
    Bare,
}

/// What follows the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Imm {
    None,
    I8,
    I16,
    I32,
    I64,
}

/// Size of the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    /// According to the width, by REX.W.
    Width,
    /// According to the width, but `rm` is a byte.
    RmByte,
    /// Bytes.
    Byte,
    /// 16 bits, by the prefix `66`.
    Word,
    /// 64 bits without REX.W, or none.
    Implied,
}

/// One row of the table of forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) mnemonic: &'static str,
    /// `F0`, `66`, `F2`, `F3` or 0.
    pub(crate) prefix: u8,
    pub(crate) map: Map,
    pub(crate) opcode: u8,
    pub(crate) shape: Shape,
    pub(crate) imm: Imm,
    pub(crate) operand: Operand,
}

/// An address: `[base + index * 2^scale + disp]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mem {
    pub(crate) base: X86,
    /// Never `rsp`.
    pub(crate) index: Option<(X86, u8)>,
    pub(crate) disp: i32,
}

impl Mem {
    pub(crate) const fn base(base: X86, disp: i32) -> Mem {
        Mem { base, index: None, disp }
    }
}

/// The operand that may be memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rm {
    Reg(X86),
    Mem(Mem),
}

impl Rm {
    /// The bits that extend `index` (X) and `base` or register (B).
    fn extensions(self) -> (u8, u8) {
        match self {
            Rm::Reg(reg) => (0, reg.0 >> 3),
            Rm::Mem(mem) => (mem.index.map_or(0, |(index, _)| index.0 >> 3), mem.base.0 >> 3),
        }
    }

    fn needs_byte_rex(self) -> bool {
        matches!(self, Rm::Reg(X86(4..=7)))
    }
}

/// The operands of an insn, as required by its form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operands {
    pub(crate) width: Width,
    /// The register in `reg`.
    pub(crate) reg: X86,
    /// The register in `vvvv` of VEX forms.
    pub(crate) vvvv: X86,
    pub(crate) rm: Rm,
    pub(crate) imm: i64,
}

impl Asm {
    /// Writes one insn.
    pub(crate) fn insn(&mut self, form: &Form, operands: Operands) {
        match form.map {
            Map::Vex38 | Map::Vex3a => self.vex(form, operands),
            _ => self.legacy(form, operands),
        }
        match form.imm {
            Imm::None => {}
            Imm::I8 => self.bytes(&(operands.imm as i8).to_le_bytes()),
            Imm::I16 => self.bytes(&(operands.imm as i16).to_le_bytes()),
            Imm::I32 => self.bytes(&(operands.imm as i32).to_le_bytes()),
            Imm::I64 => self.bytes(&operands.imm.to_le_bytes()),
        }
        self.end_of_insn();
    }

    fn legacy(&mut self, form: &Form, operands: Operands) {
        if form.prefix != 0 {
            self.byte(form.prefix);
        }
        if form.operand == Operand::Word {
            self.byte(0x66);
        }
        let wide = matches!(form.operand, Operand::Width | Operand::RmByte)
            && operands.width == Width::W64;
        let reg = match form.shape {
            Shape::Reg => operands.reg.0,
            Shape::Digit(digit) => digit,
            Shape::Plus | Shape::Bare => 0,
        };
        let (x, b) = match form.shape {
            Shape::Plus => (0, operands.reg.0 >> 3),
            Shape::Bare => (0, 0),
            _ => operands.rm.extensions(),
        };
        let byte_reg = form.operand == Operand::Byte
            && form.shape == Shape::Reg
            && matches!(operands.reg.0, 4..=7);
        let byte_rm = matches!(form.operand, Operand::Byte | Operand::RmByte)
            && !matches!(form.shape, Shape::Plus | Shape::Bare)
            && operands.rm.needs_byte_rex();
        let rex = u8::from(wide) << 3 | (reg >> 3) << 2 | x << 1 | b;
        if rex != 0 || byte_reg || byte_rm {
            self.byte(0x40 | rex);
        }
        match form.map {
            Map::Of => self.byte(0x0f),
            Map::Of38 => self.bytes(&[0x0f, 0x38]),
            _ => {}
        }
        match form.shape {
            Shape::Plus => self.byte(form.opcode | operands.reg.0 & 7),
            Shape::Bare => self.byte(form.opcode),
            Shape::Reg | Shape::Digit(_) => {
                self.byte(form.opcode);
                self.modrm(reg, operands.rm);
            }
        }
    }

    fn vex(&mut self, form: &Form, operands: Operands) {
        let (x, b) = operands.rm.extensions();
        let r = operands.reg.0 >> 3;
        let (map, vvvv) = match form.map {
            Map::Vex38 => (2, operands.vvvv.0),
            _ => (3, 0),
        };
        let pp = match form.prefix {
            0x66 => 1,
            0xf3 => 2,
            0xf2 => 3,
            _ => 0,
        };
        let w = u8::from(operands.width == Width::W64);
        self.bytes(&[
            0xc4,
            (!r & 1) << 7 | (!x & 1) << 6 | (!b & 1) << 5 | map,
            w << 7 | (!vvvv & 15) << 3 | pp,
            form.opcode,
        ]);
        self.modrm(operands.reg.0, operands.rm);
    }

    fn modrm(&mut self, reg: u8, rm: Rm) {
        let reg = (reg & 7) << 3;
        let mem = match rm {
            Rm::Reg(rm) => return self.byte(0xc0 | reg | rm.0 & 7),
            Rm::Mem(mem) => mem,
        };
        let base = mem.base.0 & 7;
        // `rbp` and `r13` without displacement would be decoded differently.
        let mode = match i8::try_from(mem.disp) {
            Ok(0) if base != 5 => 0,
            Ok(_) => 1,
            Err(_) => 2,
        };
        match mem.index {
            Some((index, scale)) => {
                self.bytes(&[mode << 6 | reg | 4, scale << 6 | (index.0 & 7) << 3 | base]);
            }
            None if base == 4 => self.bytes(&[mode << 6 | reg | 4, 0x24]),
            None => self.byte(mode << 6 | reg | base),
        }
        match mode {
            0 => {}
            1 => self.byte(mem.disp as i8 as u8),
            _ => self.bytes(&mem.disp.to_le_bytes()),
        }
    }
}
