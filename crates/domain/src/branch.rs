//! Conditional jumps: the comparisons, and whether what is known about the operands decides one.
//!
//! Kernel: `is_scalar_branch_taken` (6.18).

use crate::bounds::Bounds;
use crate::{ScalarAt, Tnum};

/// The comparisons of JMP and JMP32 insns; `Nset` is the false side of `Set` and has no opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum JmpOp {
    Eq,
    Ne,
    Gt,
    Ge,
    Lt,
    Le,
    Sgt,
    Sge,
    Slt,
    Sle,
    Set,
    Nset,
}

impl JmpOp {
    /// The operation bits of the opcode (`BPF_JEQ` = 0x10, ...), or `None` if it is not a
    /// comparison.
    pub fn from_code(code: u8) -> Option<Self> {
        Some(match code & 0xf0 {
            0x10 => Self::Eq,
            0x20 => Self::Gt,
            0x30 => Self::Ge,
            0x40 => Self::Set,
            0x50 => Self::Ne,
            0x60 => Self::Sgt,
            0x70 => Self::Sge,
            0xa0 => Self::Lt,
            0xb0 => Self::Le,
            0xc0 => Self::Slt,
            0xd0 => Self::Sle,
            _ => return None,
        })
    }

    /// The negation: holds exactly where this one does not.
    pub fn negated(self) -> Self {
        match self {
            Self::Eq => Self::Ne,
            Self::Ne => Self::Eq,
            Self::Gt => Self::Le,
            Self::Le => Self::Gt,
            Self::Ge => Self::Lt,
            Self::Lt => Self::Ge,
            Self::Sgt => Self::Sle,
            Self::Sle => Self::Sgt,
            Self::Sge => Self::Slt,
            Self::Slt => Self::Sge,
            Self::Set => Self::Nset,
            Self::Nset => Self::Set,
        }
    }

    /// The comparison with its operands exchanged.
    pub fn swapped(self) -> Self {
        match self {
            Self::Gt => Self::Lt,
            Self::Lt => Self::Gt,
            Self::Ge => Self::Le,
            Self::Le => Self::Ge,
            Self::Sgt => Self::Slt,
            Self::Slt => Self::Sgt,
            Self::Sge => Self::Sle,
            Self::Sle => Self::Sge,
            op => op,
        }
    }
}

/// Whether `a op b` holds for two numbers: always (`Some(true)`), never (`Some(false)`), or unknown
/// (`None`).
#[inline]
pub fn is_branch_taken<const W: u32, const H: u32>(
    a: &ScalarAt<W, H>,
    b: &ScalarAt<W, H>,
    op: JmpOp,
    is_jmp32: bool,
) -> Option<bool> {
    if is_jmp32 {
        let low = Bounds::<H>::UMAX;
        let (a_off, b_off) = (a.var_off.truncate(low), b.var_off.truncate(low));
        return decide(op, a.half(), b.half(), a_off, b_off);
    }
    let taken = decide(op, a.wide(), b.wide(), a.var_off, b.var_off);
    match op {
        JmpOp::Eq if taken.is_none() && disjoint(a.half(), b.half()) => Some(false),
        JmpOp::Ne if taken.is_none() && disjoint(a.half(), b.half()) => Some(true),
        _ => taken,
    }
}

#[inline]
fn decide<const B: u32>(
    op: JmpOp,
    a: Bounds<B>,
    b: Bounds<B>,
    a_off: Tnum,
    b_off: Tnum,
) -> Option<bool> {
    match op {
        JmpOp::Eq => equal(a, b, a_off, b_off),
        JmpOp::Ne => equal(a, b, a_off, b_off).map(|eq| !eq),
        JmpOp::Lt => less(a.umax < b.umin, a.umin >= b.umax),
        JmpOp::Le => less(a.umax <= b.umin, a.umin > b.umax),
        JmpOp::Slt => less(a.smax < b.smin, a.smin >= b.smax),
        JmpOp::Sle => less(a.smax <= b.smin, a.smin > b.smax),
        JmpOp::Gt | JmpOp::Ge | JmpOp::Sgt | JmpOp::Sge => decide(op.swapped(), b, a, b_off, a_off),
        JmpOp::Set => shares_bits(a_off, b_off),
        JmpOp::Nset => shares_bits(a_off, b_off).map(|set| !set),
    }
}

#[inline]
fn less(always: bool, never: bool) -> Option<bool> {
    match (always, never) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

#[inline]
fn equal<const B: u32>(a: Bounds<B>, b: Bounds<B>, a_off: Tnum, b_off: Tnum) -> Option<bool> {
    if a_off.is_const() && b_off.is_const() {
        return Some(a_off.value == b_off.value);
    }
    (!a_off.overlap(b_off) || disjoint(a, b)).then_some(false)
}

#[inline]
fn disjoint<const B: u32>(a: Bounds<B>, b: Bounds<B>) -> bool {
    a.umin > b.umax || a.umax < b.umin || a.smin > b.smax || a.smax < b.smin
}

/// Only a test against a known mask can be decided.
#[inline]
fn shares_bits(a_off: Tnum, b_off: Tnum) -> Option<bool> {
    let (value, mask) = match (b_off.is_const(), a_off.is_const()) {
        (true, _) => (a_off, b_off.value),
        (_, true) => (b_off, a_off.value),
        _ => return None,
    };
    if value.value & mask != 0 {
        return Some(true);
    }
    ((value.value | value.mask) & mask == 0).then_some(false)
}
