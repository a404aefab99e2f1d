//! Encoding of forms: prefixes, REX or VEX, opcode, ModRM, SIB, displacement, immediate.
//!
//! Source: AMD64 Architecture Programmer's Manual volume 3, chapter 1 (instruction encoding).
//!
//! # Invariants
//! 1. The length of an insn depends only on its operands, never on its position.
//! 2. A byte register above `bl` is named with a REX prefix: `sil`, not `dh`.

use super::form::{Form, Imm, Map, Operand, Shape};
use super::operands::{Operands, Rm, Width};

/// The longest insn of the processor has 15 bytes.
const ROOM: usize = 16;

/// One insn.
struct Bytes {
    all: [u8; ROOM],
    len: usize,
}

impl Bytes {
    fn push(&mut self, byte: u8) {
        self.all[self.len % ROOM] = byte;
        self.len += 1;
    }

    fn extend_from_slice(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.push(*byte));
    }
}

/// Appends one insn.
pub(super) fn insn(out: &mut Vec<u8>, form: &Form, operands: Operands) {
    let mut bytes = Bytes { all: [0; ROOM], len: 0 };
    let code = &mut bytes;
    match form.map {
        Map::Vex38 | Map::Vex3a => vex(code, form, operands),
        _ => legacy(code, form, operands),
    }
    match form.imm {
        Imm::None => {}
        Imm::I8 => code.extend_from_slice(&(operands.imm as i8).to_le_bytes()),
        Imm::I16 => code.extend_from_slice(&(operands.imm as i16).to_le_bytes()),
        Imm::I32 => code.extend_from_slice(&(operands.imm as i32).to_le_bytes()),
        Imm::I64 => code.extend_from_slice(&operands.imm.to_le_bytes()),
    }
    // Copying a fixed number of bytes is faster.
    let end = out.len() + bytes.len;
    out.extend_from_slice(&bytes.all);
    out.truncate(end);
}

fn legacy(code: &mut Bytes, form: &Form, operands: Operands) {
    if form.prefix != 0 {
        code.push(form.prefix);
    }
    if form.operand == Operand::Word {
        code.push(0x66);
    }
    let wide =
        matches!(form.operand, Operand::Width | Operand::RmByte) && operands.width == Width::W64;
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
        code.push(0x40 | rex);
    }
    match form.map {
        Map::Of => code.push(0x0f),
        Map::Of38 => code.extend_from_slice(&[0x0f, 0x38]),
        _ => {}
    }
    match form.shape {
        Shape::Plus => code.push(form.opcode | operands.reg.0 & 7),
        Shape::Bare => code.push(form.opcode),
        Shape::Reg | Shape::Digit(_) => {
            code.push(form.opcode);
            modrm(code, reg, operands.rm);
        }
    }
}

fn vex(code: &mut Bytes, form: &Form, operands: Operands) {
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
    code.extend_from_slice(&[
        0xc4,
        (!r & 1) << 7 | (!x & 1) << 6 | (!b & 1) << 5 | map,
        w << 7 | (!vvvv & 15) << 3 | pp,
        form.opcode,
    ]);
    modrm(code, operands.reg.0, operands.rm);
}

fn modrm(code: &mut Bytes, reg: u8, rm: Rm) {
    let reg = (reg & 7) << 3;
    let mem = match rm {
        Rm::Reg(rm) => return code.push(0xc0 | reg | rm.0 & 7),
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
            code.extend_from_slice(&[mode << 6 | reg | 4, scale << 6 | (index.0 & 7) << 3 | base]);
        }
        None if base == 4 => code.extend_from_slice(&[mode << 6 | reg | 4, 0x24]),
        None => code.push(mode << 6 | reg | base),
    }
    match mode {
        0 => {}
        1 => code.push(mem.disp as i8 as u8),
        _ => code.extend_from_slice(&mem.disp.to_le_bytes()),
    }
}
