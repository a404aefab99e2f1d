//! Division and modulo as BPF defines them, in terms of divisions that never trap.
//!
//! Division by zero: the quotient is 0, the remainder the dividend. The signed overflow `MIN / -1`:
//! the quotient is `MIN`, the remainder 0. After this rewrite a divisor is never 0, and never -1 in
//! a signed division.
//!
//! Source: RFC 9669 section 4.1. Kernel: `do_misc_fixups` (6.18).

use super::build::{alu_imm, alu_reg, goto, jump_imm};
use super::emit::Emit;
use super::source::{Rewritten, Source};
use skep_insn::Insn;
use skep_insn::code::*;

/// Rewrites the insn at `idx` if it divides.
pub(super) fn rewrite(source: &Source<'_>, idx: usize, out: &mut Emit) -> Rewritten {
    let insn = source.insns[idx];
    let class = insn.class();
    if !matches!(class, BPF_ALU | BPF_ALU64) || !matches!(insn.op(), BPF_DIV | BPF_MOD) {
        return Ok(false);
    }
    let signed = insn.off == 1;
    match (insn.is_src_reg(), signed) {
        (true, true) => signed_by_reg(insn, out),
        (true, false) => unsigned_by_reg(insn, out),
        (false, _) if insn.imm == 0 => by_zero(insn, out),
        (false, true) if insn.imm == -1 => by_minus_one(insn, out),
        (false, _) => out.push(insn),
    }
    Ok(true)
}

/// The class of jumps that compare as many bits as the division uses.
fn jump_class(insn: Insn) -> u8 {
    if insn.class() == BPF_ALU64 { BPF_JMP } else { BPF_JMP32 }
}

/// The result of division by zero. For a 64-bit remainder nothing needs to be done.
fn by_zero(insn: Insn, out: &mut Emit) {
    if insn.op() == BPF_DIV {
        out.push(alu_imm(BPF_ALU, BPF_MOV, insn.dst, 0));
    } else if insn.class() == BPF_ALU {
        out.push(alu_reg(BPF_ALU, BPF_MOV, insn.dst, insn.dst));
    }
}

fn by_minus_one(insn: Insn, out: &mut Emit) {
    if insn.op() == BPF_DIV {
        out.push(alu_imm(insn.class(), BPF_NEG, insn.dst, 0));
    } else {
        out.push(alu_imm(BPF_ALU, BPF_MOV, insn.dst, 0));
    }
}

fn unsigned_by_reg(insn: Insn, out: &mut Emit) {
    let jump = jump_class(insn);
    if insn.op() == BPF_DIV {
        out.push(jump_imm(jump, BPF_JNE, insn.src, 0, 2));
        by_zero(insn, out);
        out.push(goto(1));
        out.push(insn);
    } else if insn.class() == BPF_ALU64 {
        out.push(jump_imm(jump, BPF_JEQ, insn.src, 0, 1));
        out.push(insn);
    } else {
        out.push(jump_imm(jump, BPF_JEQ, insn.src, 0, 2));
        out.push(insn);
        out.push(goto(1));
        by_zero(insn, out);
    }
}

/// ```text
///       if src == 0 goto zero
///       if src == -1 goto minus_one
///       dst /= src
///       goto end
/// minus_one:
///       dst = -dst
///       goto end
/// zero: w_dst = 0
/// end:
/// ```
fn signed_by_reg(insn: Insn, out: &mut Emit) {
    let jump = jump_class(insn);
    let zero_is_empty = insn.op() == BPF_MOD && insn.class() == BPF_ALU64;
    let (to_zero, past_zero) = if zero_is_empty { (4, 1) } else { (5, 3) };
    out.push(jump_imm(jump, BPF_JEQ, insn.src, 0, to_zero));
    out.push(jump_imm(jump, BPF_JEQ, insn.src, -1, 2));
    out.push(insn);
    out.push(goto(past_zero));
    by_minus_one(insn, out);
    if !zero_is_empty {
        out.push(goto(1));
        by_zero(insn, out);
    }
}
