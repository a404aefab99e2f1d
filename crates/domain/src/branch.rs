//! Conditional jumps: which way can they go, and what does each way teach.
//!
//! Kernel: `is_scalar_branch_taken`, `regs_refine_cond_op`, `reg_set_min_max` (6.18).

use crate::ScalarAt;

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
    /// The operation bits of the opcode (`BPF_JEQ` = 0x10, ...), or `None` if it is not a comparison.
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

    /// The comparison that holds where this one does not.
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

/// Whether `a op b` always (`Some(true)`), never (`Some(false)`) or perhaps holds, for two numbers.
#[inline]
pub fn is_branch_taken<const W: u32, const H: u32>(
    a: &ScalarAt<W, H>,
    b: &ScalarAt<W, H>,
    op: JmpOp,
    is_jmp32: bool,
) -> Option<bool> {
    let _ = (a, b, op, is_jmp32);
    None
}

/// Narrows `a` and `b` to what `a op b` allows, without [`ScalarAt::sync`].
#[inline]
pub fn refine<const W: u32, const H: u32>(
    op: JmpOp,
    is_jmp32: bool,
    a: &mut ScalarAt<W, H>,
    b: &mut ScalarAt<W, H>,
) {
    let _ = (op, is_jmp32, a, b);
}

/// Narrows the operands of one outcome of `a op b` and syncs both; for the false outcome pass `op.negated()`.
#[inline]
pub fn refine_branches<const W: u32, const H: u32>(
    op: JmpOp,
    is_jmp32: bool,
    a: &mut ScalarAt<W, H>,
    b: &mut ScalarAt<W, H>,
) {
    refine(op, is_jmp32, a, b);
    a.sync();
    b.sync();
}
