//! What the machine computes, at any width: what abstract values are held against.

use skep_domain::{AluOp, JmpOp};

/// Every operation of arithmetic.
pub(crate) const ALU: [AluOp; 11] = [
    AluOp::Add,
    AluOp::Sub,
    AluOp::Mul,
    AluOp::Div,
    AluOp::Or,
    AluOp::And,
    AluOp::Lsh,
    AluOp::Rsh,
    AluOp::Mod,
    AluOp::Xor,
    AluOp::Arsh,
];

/// Every comparison.
pub(crate) const JMP: [JmpOp; 12] = [
    JmpOp::Eq,
    JmpOp::Ne,
    JmpOp::Gt,
    JmpOp::Ge,
    JmpOp::Lt,
    JmpOp::Le,
    JmpOp::Sgt,
    JmpOp::Sge,
    JmpOp::Slt,
    JmpOp::Sle,
    JmpOp::Set,
    JmpOp::Nset,
];

/// The low bits.
pub(crate) fn low(v: u64, bits: u32) -> u64 {
    v & (u64::MAX >> (64 - bits))
}

/// The low bits, as a signed number.
pub(crate) fn signed(v: u64, bits: u32) -> i64 {
    ((v << (64 - bits)) as i64) >> (64 - bits)
}

/// The value that the machine computes, on `bits` bits.
pub(crate) fn concrete_alu(op: AluOp, x: u64, y: u64, bits: u32) -> u64 {
    let (x, y) = (low(x, bits), low(y, bits));
    let shift = (y % u64::from(bits.next_power_of_two())) as u32;
    let out = match op {
        AluOp::Add => x.wrapping_add(y),
        AluOp::Sub => x.wrapping_sub(y),
        AluOp::Mul => x.wrapping_mul(y),
        AluOp::Div => x.checked_div(y).unwrap_or(0),
        AluOp::Mod => x.checked_rem(y).unwrap_or(x),
        AluOp::Or => x | y,
        AluOp::And => x & y,
        AluOp::Xor => x ^ y,
        AluOp::Lsh => x << shift,
        AluOp::Rsh => x >> shift,
        AluOp::Arsh => (signed(x, bits) >> shift) as u64,
    };
    low(out, bits)
}

/// Whether the machine takes the branch, on `bits` bits.
pub(crate) fn concrete_jmp(op: JmpOp, x: u64, y: u64, bits: u32) -> bool {
    let (x, y) = (low(x, bits), low(y, bits));
    let (sx, sy) = (signed(x, bits), signed(y, bits));
    match op {
        JmpOp::Eq => x == y,
        JmpOp::Ne => x != y,
        JmpOp::Gt => x > y,
        JmpOp::Ge => x >= y,
        JmpOp::Lt => x < y,
        JmpOp::Le => x <= y,
        JmpOp::Sgt => sx > sy,
        JmpOp::Sge => sx >= sy,
        JmpOp::Slt => sx < sy,
        JmpOp::Sle => sx <= sy,
        JmpOp::Set => x & y != 0,
        JmpOp::Nset => x & y == 0,
    }
}
