//! What scalars make of one another, by kernel.
//!
//! Older kernels compare with constants: ranges of two registers neither decide a jump nor become
//! narrower by it, and what is not equal to an edge of a range leaves the edge where it is. They
//! also multiply and join bits by constants only.

use skep_domain::{AluOp, Deduction, Division, JmpOp, Scalar, Tnum};
use skep_insn::Insn;
use skep_insn::code::{BPF_ALU64, BPF_DIV, BPF_MOD};
use skep_uapi::Behaviours;

/// What the kernel deduces from bounds; `None` if all that 6.18 does.
#[inline]
fn deduction(rules: &Behaviours) -> Option<Deduction> {
    let how = Deduction {
        wide_across_signs: rules.bounds_cross_signs,
        half_across_signs: rules.half_bounds_cross_signs,
        single_values: rules.single_values_known,
        both_overflow: rules.overflows_bounded,
        signed_products: rules.products_signed,
    };
    (how != Deduction::REFERENCE).then_some(how)
}

/// `dst op= src`; false if nothing is known of the result.
#[inline]
pub(super) fn alu(
    rules: &Behaviours,
    (op, wide): (AluOp, bool),
    dst: &mut Scalar,
    src: &Scalar,
) -> bool {
    match deduction(rules) {
        None => skep_domain::alu(op, wide, dst, src),
        Some(how) => skep_domain::alu_by(how, (op, wide), dst, src),
    }
}

/// `sum += delta`, where the sum is linked to another number.
pub(super) fn add_linked(rules: &Behaviours, wide: bool, sum: &mut Scalar, delta: &Scalar) {
    if rules.linked_sums_synced {
        alu(rules, (AluOp::Add, wide), sum, delta);
    } else {
        let how = deduction(rules).unwrap_or(Deduction::REFERENCE);
        skep_domain::add_unsynced(how, wide, sum, delta);
    }
}

/// What a division by a constant leaves, where that is known: `None` if this is no such division.
#[inline]
pub(super) fn divide(
    rules: &Behaviours,
    insn: Insn,
    dst: &mut Scalar,
    src: &Scalar,
) -> Option<bool> {
    let remainder = match insn.op() {
        BPF_DIV => false,
        BPF_MOD => true,
        _ => return None,
    };
    let wide = insn.class() == BPF_ALU64;
    if !rules.divisions_bounded || !is_known(src, !wide) {
        return None;
    }
    let how = Division { remainder, signed: insn.off != 0, wide };
    Some(skep_domain::divide(how, dst, src.var_off.value))
}

/// Narrows both operands to where the comparison holds.
#[inline]
pub(super) fn refine(
    rules: &Behaviours,
    (op, is_jmp32): (JmpOp, bool),
    a: &mut Scalar,
    b: &mut Scalar,
) {
    if !rules.jumps_keep_bounds {
        return refine_anew(rules, (op, is_jmp32), a, b);
    }
    match deduction(rules) {
        None => skep_domain::refine_branches(op, is_jmp32, a, b),
        Some(how) => skep_domain::refine_branches_by(how, (op, is_jmp32), a, b),
    }
}

/// The same where the bounds of 64 bits are found anew after a comparison of 32, and those of the
/// low half after one of 64: of the number that is compared with a constant, whatever is learned.
#[cold]
fn refine_anew(rules: &Behaviours, (op, is_jmp32): (JmpOp, bool), a: &mut Scalar, b: &mut Scalar) {
    let how = deduction(rules).unwrap_or(Deduction::REFERENCE);
    let (a_known, b_known) = (is_known(a, is_jmp32), is_known(b, is_jmp32));
    if op != JmpOp::Ne || rules.jumps_trim_edges {
        skep_domain::refine_branches_by(how, (op, is_jmp32), a, b);
    }
    match (a_known, b_known) {
        (_, true) => skep_domain::find_anew(how, is_jmp32, a),
        (true, false) => skep_domain::find_anew(how, is_jmp32, b),
        (false, false) => {}
    }
}

/// Brings the views of a scalar into agreement.
#[inline]
pub(crate) fn sync(rules: &Behaviours, scalar: &mut Scalar) {
    match deduction(rules) {
        None => scalar.sync(),
        Some(how) => scalar.sync_by(how),
    }
}

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
    let by_bits = matches!(op, JmpOp::Eq | JmpOp::Ne) && !rules.bits_decide_jumps;
    if by_bits && !(is_known(a, is_jmp32) && is_known(b, is_jmp32)) {
        let a = Scalar { var_off: Tnum::UNKNOWN, ..*a };
        return skep_domain::is_branch_taken(&a, b, op, is_jmp32);
    }
    skep_domain::is_branch_taken(a, b, op, is_jmp32)
}

/// The same of a number that is compared with itself.
pub(super) fn is_taken_by_itself(
    rules: &Behaviours,
    a: &Scalar,
    op: JmpOp,
    is_jmp32: bool,
) -> Option<bool> {
    if !rules.same_number_decides {
        return None;
    }
    let (smin, smax) = match is_jmp32 {
        true => (i64::from(a.s32_min), i64::from(a.s32_max)),
        false => (a.smin, a.smax),
    };
    match op {
        JmpOp::Eq | JmpOp::Ge | JmpOp::Le | JmpOp::Sge | JmpOp::Sle => Some(true),
        JmpOp::Ne | JmpOp::Gt | JmpOp::Lt | JmpOp::Sgt | JmpOp::Slt => Some(false),
        _ => (smin > 0 || smax < 0).then_some(op == JmpOp::Set),
    }
}

/// Whether nothing is known of how the kernel ends a loop: as long as a constant is below a range
/// of more than 32 bits.
#[inline]
pub(super) fn is_not_known(rules: &Behaviours, insn: Insn, (a, b): (&Scalar, &Scalar)) -> bool {
    let wide = b.umax > u64::from(u32::MAX);
    !rules.constants_compared && insn.off < 0 && a.is_const() && !b.is_const() && wide
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
        JmpOp::Ne if rules.jumps_keep_bounds => rules.jumps_trim_edges,
        _ => rules.ranges_decide_jumps || is_known(a, is_jmp32) || is_known(b, is_jmp32),
    }
}

/// A constant, as far as it is looked at.
fn is_known(scalar: &Scalar, half: bool) -> bool {
    let low = if half { u64::from(u32::MAX) } else { u64::MAX };
    scalar.var_off.mask & low == 0
}
