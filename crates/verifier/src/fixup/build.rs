//! Constructors for the insns that rewrites emit.

use crate::xlated::AX;
use skep_insn::Insn;
use skep_insn::code::*;

/// `dst OP imm`; `class` is `BPF_ALU64` or `BPF_ALU`.
pub(super) fn alu_imm(class: u8, op: u8, dst: u8, imm: i32) -> Insn {
    Insn { code: class | op | BPF_K, dst, imm, ..Insn::default() }
}

/// `dst = imm ll`
pub(super) fn ld_imm64(dst: u8, imm: u64) -> [Insn; 2] {
    let low = Insn { code: BPF_LD | BPF_IMM | BPF_DW, dst, imm: imm as i32, ..Insn::default() };
    [low, Insn { imm: (imm >> 32) as i32, ..Insn::default() }]
}

/// `dst OP src`.
pub(super) fn alu_reg(class: u8, op: u8, dst: u8, src: u8) -> Insn {
    Insn { code: class | op | BPF_X, dst, src, ..Insn::default() }
}

/// `if dst OP imm goto pc+off`; `class` is `BPF_JMP` or `BPF_JMP32`.
pub(super) fn jump_imm(class: u8, op: u8, dst: u8, imm: i32, off: i16) -> Insn {
    Insn { code: class | op | BPF_K, dst, imm, off, ..Insn::default() }
}

/// `goto pc+off`
pub(super) fn goto(off: i16) -> Insn {
    Insn { code: BPF_JMP | BPF_JA, off, ..Insn::default() }
}

/// `exit`
pub(super) fn exit() -> Insn {
    Insn { code: BPF_JMP | BPF_EXIT, ..Insn::default() }
}

/// `call HELPER`
pub(super) fn call_helper(imm: i32) -> Insn {
    Insn { code: BPF_JMP | BPF_CALL, imm, ..Insn::default() }
}

/// `r11 = *(u64 *)(r10 -depth)`
pub(super) fn fill_ax(depth: i16) -> Insn {
    Insn { code: BPF_LDX | BPF_MEM | BPF_DW, dst: AX, src: 10, off: -depth, imm: 0 }
}

/// `*(u64 *)(r10 -depth) = r11`
pub(super) fn spill_ax(depth: i16) -> Insn {
    Insn { code: BPF_STX | BPF_MEM | BPF_DW, dst: 10, src: AX, off: -depth, imm: 0 }
}
