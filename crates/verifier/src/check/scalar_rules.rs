//! What scalars make of one another, by kernel.
//!
//! Older kernels compare with constants: ranges of two registers neither decide a jump nor become
//! narrower by it, and what is not equal to an edge of a range leaves the edge where it is. They
//! also multiply and join bits by constants only.

use skep_domain::{AluOp, JmpOp, Scalar};
use skep_uapi::Behaviours;

/// Whether something is known of the result of an operation with this operand.
#[inline]
pub(super) fn computes(rules: &Behaviours, op: AluOp, src: &Scalar, wide: bool) -> bool {
    rules.ranges_are_combined
        || !matches!(op, AluOp::Mul | AluOp::Or | AluOp::Xor)
        || is_known(src, !wide)
}

/// Whether the comparison always or never holds.
#[inline]
pub(super) fn is_taken(
    rules: &Behaviours,
    (a, b): (&Scalar, &Scalar),
    op: JmpOp,
    is_jmp32: bool,
) -> Option<bool> {
    if !rules.ranges_decide_jumps {
        let by_value = matches!(op, JmpOp::Eq | JmpOp::Ne);
        if !is_known(b, is_jmp32) || by_value && !is_known(a, is_jmp32) {
            return None;
        }
    }
    skep_domain::is_branch_taken(a, b, op, is_jmp32)
}

/// Whether what is known of the operands becomes more where it holds.
#[inline]
pub(super) fn teaches(
    rules: &Behaviours,
    (a, b): (&Scalar, &Scalar),
    op: JmpOp,
    is_jmp32: bool,
) -> bool {
    if rules.ranges_decide_jumps && rules.jumps_trim_edges {
        return true;
    }
    match op {
        JmpOp::Eq if !is_jmp32 => true,
        JmpOp::Ne => rules.jumps_trim_edges,
        _ => rules.ranges_decide_jumps || is_known(a, is_jmp32) || is_known(b, is_jmp32),
    }
}

/// A constant, as far as it is looked at.
fn is_known(scalar: &Scalar, half: bool) -> bool {
    let low = if half { u64::from(u32::MAX) } else { u64::MAX };
    scalar.var_off.mask & low == 0
}
