//! Arithmetic: the result of an ALU insn for two values.
//!
//! Source: RFC 9669 section 4.

use skep_insn::Insn;
use skep_insn::code::*;

/// The new value of `dst`; `None` if there is no such insn.
pub(crate) fn alu(insn: Insn, dst: u64, src_reg: u64) -> Option<u64> {
    let wide = insn.class() == BPF_ALU64;
    if insn.op() == BPF_END {
        return swap(insn, dst);
    }
    let src = if insn.is_src_reg() { src_reg } else { i64::from(insn.imm) as u64 };
    if insn.op() == BPF_MOV {
        return mov(insn, src);
    }
    if wide { alu64(insn, dst, src) } else { alu32(insn, dst as u32, src as u32).map(u64::from) }
}

fn alu64(insn: Insn, dst: u64, src: u64) -> Option<u64> {
    let signed = insn.off == 1;
    let shift = (src & 63) as u32;
    Some(match insn.op() {
        BPF_ADD => dst.wrapping_add(src),
        BPF_SUB => dst.wrapping_sub(src),
        BPF_MUL => dst.wrapping_mul(src),
        BPF_DIV if src == 0 => 0,
        BPF_DIV if signed => (dst as i64).wrapping_div(src as i64) as u64,
        BPF_DIV => dst / src,
        BPF_MOD if src == 0 => dst,
        BPF_MOD if signed => (dst as i64).wrapping_rem(src as i64) as u64,
        BPF_MOD => dst % src,
        BPF_OR => dst | src,
        BPF_AND => dst & src,
        BPF_XOR => dst ^ src,
        BPF_LSH => dst << shift,
        BPF_RSH => dst >> shift,
        BPF_ARSH => ((dst as i64) >> shift) as u64,
        BPF_NEG => dst.wrapping_neg(),
        _ => return None,
    })
}

fn alu32(insn: Insn, dst: u32, src: u32) -> Option<u32> {
    let signed = insn.off == 1;
    let shift = src & 31;
    Some(match insn.op() {
        BPF_ADD => dst.wrapping_add(src),
        BPF_SUB => dst.wrapping_sub(src),
        BPF_MUL => dst.wrapping_mul(src),
        BPF_DIV if src == 0 => 0,
        BPF_DIV if signed => (dst as i32).wrapping_div(src as i32) as u32,
        BPF_DIV => dst / src,
        BPF_MOD if src == 0 => dst,
        BPF_MOD if signed => (dst as i32).wrapping_rem(src as i32) as u32,
        BPF_MOD => dst % src,
        BPF_OR => dst | src,
        BPF_AND => dst & src,
        BPF_XOR => dst ^ src,
        BPF_LSH => dst << shift,
        BPF_RSH => dst >> shift,
        BPF_ARSH => ((dst as i32) >> shift) as u32,
        BPF_NEG => dst.wrapping_neg(),
        _ => return None,
    })
}

/// `r1 = r2`, `w1 = 7`, `r1 = (s8)r2`.
fn mov(insn: Insn, src: u64) -> Option<u64> {
    let extended = match insn.off {
        0 => src,
        8 => i64::from(src as i8) as u64,
        16 => i64::from(src as i16) as u64,
        32 => i64::from(src as i32) as u64,
        _ => return None,
    };
    Some(if insn.class() == BPF_ALU64 { extended } else { u64::from(extended as u32) })
}

/// `r1 = be16 r1`, `r1 = le32 r1`, `r1 = bswap64 r1`, on a little-endian machine.
fn swap(insn: Insn, dst: u64) -> Option<u64> {
    let swaps = insn.class() == BPF_ALU64 || insn.is_src_reg();
    Some(match (insn.imm, swaps) {
        (16, true) => u64::from((dst as u16).swap_bytes()),
        (32, true) => u64::from((dst as u32).swap_bytes()),
        (64, true) => dst.swap_bytes(),
        (16, false) => u64::from(dst as u16),
        (32, false) => u64::from(dst as u32),
        (64, false) => dst,
        _ => return None,
    })
}

/// Whether a conditional jump is taken; `None` if there is no such insn.
pub(crate) fn condition(insn: Insn, dst: u64, src_reg: u64) -> Option<bool> {
    let src = if insn.is_src_reg() { src_reg } else { i64::from(insn.imm) as u64 };
    let wide = insn.class() == BPF_JMP;
    let (a, b) = if wide { (dst, src) } else { (dst & 0xffff_ffff, src & 0xffff_ffff) };
    let signed = |v: u64| if wide { v as i64 } else { i64::from(v as i32) };
    let (sa, sb) = (signed(a), signed(b));
    Some(match insn.op() {
        BPF_JEQ => a == b,
        BPF_JNE => a != b,
        BPF_JGT => a > b,
        BPF_JGE => a >= b,
        BPF_JLT => a < b,
        BPF_JLE => a <= b,
        BPF_JSET => a & b != 0,
        BPF_JSGT => sa > sb,
        BPF_JSGE => sa >= sb,
        BPF_JSLT => sa < sb,
        BPF_JSLE => sa <= sb,
        _ => return None,
    })
}
