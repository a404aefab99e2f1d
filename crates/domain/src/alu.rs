//! Arithmetic on scalars: what is known of `dst op src`.
//!
//! Kernel: `adjust_scalar_min_max_vals`, `is_safe_to_compute_dst_reg_range` (6.18).

use crate::ScalarAt;

/// The operations of ALU and ALU64 insns that combine two numbers (`BPF_ADD`, ...).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AluOp {
    Add,
    Sub,
    Mul,
    Div,
    Or,
    And,
    Lsh,
    Rsh,
    Mod,
    Xor,
    Arsh,
}

impl AluOp {
    /// The operation bits of the opcode (`BPF_ADD` = 0x00, ...), or `None` for `BPF_NEG`, `BPF_MOV`, `BPF_END` and unknown ones.
    pub fn from_code(code: u8) -> Option<Self> {
        Some(match code & 0xf0 {
            0x00 => Self::Add,
            0x10 => Self::Sub,
            0x20 => Self::Mul,
            0x30 => Self::Div,
            0x40 => Self::Or,
            0x50 => Self::And,
            0x60 => Self::Lsh,
            0x70 => Self::Rsh,
            0x90 => Self::Mod,
            0xa0 => Self::Xor,
            0xc0 => Self::Arsh,
            _ => return None,
        })
    }
}

/// `dst op= src`, on 64 bits if `wide`, else on the low half with the upper half zeroed.
///
/// False if nothing can be computed (division, a shift by an unknown or too large amount): `dst` is then unknown and
/// loses whatever else the caller knows of it (id, precision).
#[inline]
pub fn alu<const W: u32, const H: u32>(
    op: AluOp,
    wide: bool,
    dst: &mut ScalarAt<W, H>,
    src: &ScalarAt<W, H>,
) -> bool {
    let _ = (op, wide, src);
    *dst = ScalarAt::unknown();
    false
}

/// `dst = -dst`.
#[inline]
pub fn neg<const W: u32, const H: u32>(wide: bool, dst: &mut ScalarAt<W, H>) {
    let _ = wide;
    *dst = ScalarAt::unknown();
}
