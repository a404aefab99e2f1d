//! Rules for scalars that differ between kernels.
//!
//! Older kernels only use constants: the ranges of two registers neither decide a jump nor are
//! narrowed by it, and inequality with the end of a range does not move that end. Multiplication
//! and bitwise OR and XOR, too, need a constant operand.

use skep_domain::{AluOp, ByteOrder, Deduction, Division, JmpOp, Products, Scalar, Tnum};
use skep_insn::Insn;
use skep_insn::code::{BPF_ALU64, BPF_DIV, BPF_MOD};
use skep_uapi::Behaviours;

/// The abstract domain that the kernel uses for scalars.
#[derive(Clone, Copy)]
enum Domain {
    /// That of 6.18.
    Reference,
    /// That of 6.18 with fewer deductions.
    Less(Deduction),
    /// Ranges that may wrap around.
    Wrapped,
}

#[inline]
fn domain(rules: &Behaviours) -> Domain {
    if rules.ranges_wrap {
        return Domain::Wrapped;
    }
    let how = deduction(rules);
    if how == Deduction::REFERENCE { Domain::Reference } else { Domain::Less(how) }
}

#[inline]
fn deduction(rules: &Behaviours) -> Deduction {
    Deduction {
        wide_across_signs: rules.bounds_cross_signs,
        half_across_signs: rules.half_bounds_cross_signs,
        single_values: rules.single_values_known,
        both_overflow: rules.overflows_bounded,
        signed_products: rules.products_signed,
        products: match rules {
            rules if rules.products_joined => Products::Joined,
            rules if rules.products_summed => Products::Sums,
            _ => Products::Halves,
        },
        signed_halves: rules.half_bounds_number,
        halves_replace: !rules.halves_narrow,
        halves_and_wholes: rules.halves_and_wholes,
        bits_reach_halves: rules.bits_reach_halves,
        tested_keep_bounds: rules.tested_keep_bounds,
    }
}

/// `dst op= src`; false if the result is unknown.
#[inline]
pub(super) fn alu(
    rules: &Behaviours,
    op: AluOp,
    wide: bool,
    dst: &mut Scalar,
    src: &Scalar,
) -> bool {
    match domain(rules) {
        Domain::Reference => skep_domain::alu(op, wide, dst, src),
        Domain::Less(how) => {
            let computed = skep_domain::alu_by(how, op, wide, dst, src);
            let half = !computed && !wide && rules.unknown_halves_extended && is_known(src, true);
            if half {
                dst.zext_32_to_64();
            }
            computed || half
        }
        Domain::Wrapped => skep_domain::alu_wrapped(op, wide, dst, src),
    }
}

/// `sum += delta`, where `sum` is linked to another scalar.
pub(super) fn add_linked(rules: &Behaviours, wide: bool, sum: &mut Scalar, delta: &Scalar) {
    if rules.linked_sums_synced {
        alu(rules, AluOp::Add, wide, sum, delta);
    } else if rules.ranges_wrap {
        skep_domain::add_wrapped_unsynced(wide, sum, delta);
    } else {
        skep_domain::add_unsynced(deduction(rules), wide, sum, delta);
    }
}

/// A division by a constant, on kernels that bound the result; `None` if this is no such division.
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
    let divisor = src.var_off.value;
    Some(match rules.ranges_wrap {
        true => skep_domain::divide_wrapped(how, dst, divisor),
        false => skep_domain::divide(how, dst, divisor),
    })
}

/// Narrows both operands by the condition.
#[inline]
pub(super) fn refine(
    rules: &Behaviours,
    op: JmpOp,
    is_jmp32: bool,
    a: &mut Scalar,
    b: &mut Scalar,
) {
    if !rules.jumps_keep_bounds {
        return refine_anew(rules, op, is_jmp32, a, b);
    }
    match domain(rules) {
        Domain::Reference => skep_domain::refine_branches(op, is_jmp32, a, b),
        Domain::Less(how) => skep_domain::refine_branches_by(how, op, is_jmp32, a, b),
        Domain::Wrapped => skep_domain::refine_wrapped(op, is_jmp32, a, b),
    }
}

/// Narrows a scalar that is compared with itself.
pub(super) fn refine_same(rules: &Behaviours, op: JmpOp, is_jmp32: bool, a: &mut Scalar) {
    if !teaches(rules, a, a, op, is_jmp32) {
        return;
    }
    match domain(rules) {
        Domain::Reference => skep_domain::refine_same(op, is_jmp32, a),
        Domain::Less(how) => skep_domain::refine_same_by(how, op, is_jmp32, a),
        Domain::Wrapped => skep_domain::refine_wrapped(op, is_jmp32, a, &mut a.clone()),
    }
}

/// Narrows on kernels that recompute the 64-bit bounds after a 32-bit comparison and the 32-bit
/// bounds after a 64-bit one, for the operand that is compared with a constant, even if nothing was
/// learned.
#[cold]
fn refine_anew(rules: &Behaviours, op: JmpOp, is_jmp32: bool, a: &mut Scalar, b: &mut Scalar) {
    let how = deduction(rules);
    let (a_known, b_known) = (is_known(a, is_jmp32), is_known(b, is_jmp32));
    if op != JmpOp::Ne || rules.jumps_trim_edges {
        skep_domain::refine_by(how, op, is_jmp32, a, b);
    }
    let (scalar, constant) = match (a_known, b_known) {
        (_, true) => (a, b.var_off.value),
        (true, false) => (b, a.var_off.value),
        (false, false) => {
            a.sync_by(how);
            b.sync_by(how);
            return;
        }
    };
    is_value(op, is_jmp32, scalar, constant);
    skep_domain::find_anew(how, is_jmp32, scalar);
}

/// What equals a constant is it, whatever was known.
fn is_value(op: JmpOp, is_jmp32: bool, scalar: &mut Scalar, value: u64) {
    match (op, is_jmp32) {
        (JmpOp::Eq, true) => scalar.mark_known32(value as u32),
        (JmpOp::Eq, false) => *scalar = Scalar::constant(value),
        _ => {}
    }
}

/// Makes tnum, 64-bit and 32-bit bounds consistent.
#[inline]
pub(crate) fn sync(rules: &Behaviours, scalar: &mut Scalar) {
    match domain(rules) {
        Domain::Reference => scalar.sync(),
        Domain::Less(how) => scalar.sync_by(how),
        Domain::Wrapped => scalar.sync_wrapped(),
    }
}

/// Zeroes the upper half.
#[inline]
pub(super) fn zero_extend(rules: &Behaviours, scalar: &mut Scalar) {
    match rules.ranges_wrap {
        true => scalar.zext_wrapped(),
        false => scalar.zext_32_to_64(),
    }
    sync(rules, scalar);
}

/// Truncates to `size` bytes (1, 2, 4).
#[inline]
pub(crate) fn truncate(rules: &Behaviours, scalar: &mut Scalar, size: u32) {
    match rules.ranges_wrap {
        true => scalar.truncate_wrapped(8 * size),
        false if !rules.halves_and_wholes => scalar.truncate_by(deduction(rules), 8 * size),
        false => scalar.coerce_to_size(size),
    }
}

/// Sign-extends `size` bytes (1, 2, 4) to 64 bits.
#[inline]
pub(crate) fn sign_extend(rules: &Behaviours, scalar: &mut Scalar, size: u32) {
    match rules.ranges_wrap {
        true => scalar.sign_extend_wrapped(8 * size),
        false => scalar.coerce_to_size_sx(size),
    }
}

/// Sign-extends `size` bytes (1, 2) to 32 bits.
pub(super) fn sign_extend_half(rules: &Behaviours, scalar: &mut Scalar, size: u32) {
    let (bits, is_known) = (scalar.var_off, scalar.is_const());
    match rules.ranges_wrap {
        true => scalar.sign_extend_half_wrapped(8 * size),
        false => scalar.coerce_subreg_to_size_sx(size),
    }
    if !rules.half_extensions_set_bits && !is_known {
        scalar.var_off = bits;
    }
}

/// Negation.
pub(super) fn neg(rules: &Behaviours, wide: bool, scalar: &mut Scalar) {
    match rules.ranges_wrap {
        true => skep_domain::neg_wrapped(wide, scalar),
        false => skep_domain::neg(wide, scalar),
    }
}

/// Swaps or truncates bytes.
pub(super) fn byte_order(rules: &Behaviours, order: ByteOrder, bits: u32, scalar: &mut Scalar) {
    match rules.ranges_wrap {
        true => skep_domain::byte_order_wrapped(order, bits, scalar),
        false => skep_domain::byte_order(order, bits, scalar),
    }
}

/// Whether anything is known about the result of an operation with this operand.
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
    a: &Scalar,
    b: &Scalar,
    op: JmpOp,
    is_jmp32: bool,
) -> Option<bool> {
    if !rules.ranges_decide_jumps {
        return is_taken_by_constant(rules, a, b, op, is_jmp32);
    }
    let by_bits = matches!(op, JmpOp::Eq | JmpOp::Ne) && !rules.bits_decide_jumps;
    if by_bits && !(is_known(a, is_jmp32) && is_known(b, is_jmp32)) {
        let a = Scalar { var_off: Tnum::UNKNOWN, ..*a };
        return skep_domain::is_branch_taken(&a, b, op, is_jmp32);
    }
    let taken = skep_domain::is_branch_taken(a, b, op, is_jmp32);
    if taken.is_none() && rules.contradictions_decide {
        return leaves_nothing(rules, a, b, op, is_jmp32);
    }
    taken
}

/// The same on kernels that do not decide by two ranges.
fn is_taken_by_constant(
    rules: &Behaviours,
    a: &Scalar,
    b: &Scalar,
    op: JmpOp,
    is_jmp32: bool,
) -> Option<bool> {
    let is_equality = matches!(op, JmpOp::Eq | JmpOp::Ne);
    match [a, b].map(|it| is_known(it, is_jmp32)) {
        [true, false] if rules.constants_outside_differ => {
            is_taken_by_constant(rules, b, a, op.swapped(), is_jmp32)
        }
        [_, false] => None,
        [false, true] if is_equality => (rules.constants_outside_differ
            && is_outside(b.var_off.value, a, is_jmp32))
        .then_some(op == JmpOp::Ne),
        _ => skep_domain::is_branch_taken(a, b, op, is_jmp32),
    }
}

/// Whether the bounds of the compared bits exclude the constant.
fn is_outside(constant: u64, range: &Scalar, is_jmp32: bool) -> bool {
    let low = constant as u32;
    match is_jmp32 {
        true => {
            !(range.u32_min..=range.u32_max).contains(&low)
                || !(range.s32_min..=range.s32_max).contains(&low.cast_signed())
        }
        false => {
            !(range.umin..=range.umax).contains(&constant)
                || !(range.smin..=range.smax).contains(&constant.cast_signed())
        }
    }
}

/// Decided if one outcome would make an operand's bounds contradictory.
fn leaves_nothing(
    rules: &Behaviours,
    a: &Scalar,
    b: &Scalar,
    op: JmpOp,
    is_jmp32: bool,
) -> Option<bool> {
    [(op.negated(), true), (op, false)].into_iter().find_map(|(side, taken)| {
        let (mut x, mut y) = (*a, *b);
        refine(rules, side, is_jmp32, &mut x, &mut y);
        let nothing = x.violated_rule().is_some() || y.violated_rule().is_some();
        nothing.then_some(taken)
    })
}

/// The same for a scalar that is compared with itself.
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

/// Whether it is unknown how the kernel ends a loop that runs while a constant is below a range of
/// more than 32 bits.
#[inline]
pub(super) fn is_not_known(rules: &Behaviours, insn: Insn, a: &Scalar, b: &Scalar) -> bool {
    let wide = b.umax > u64::from(u32::MAX);
    !rules.constants_compared && insn.off < 0 && a.is_const() && !b.is_const() && wide
}

/// Whether the operands can be narrowed where the condition holds.
#[inline]
pub(super) fn teaches(
    rules: &Behaviours,
    a: &Scalar,
    b: &Scalar,
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

/// Whether the compared bits are constant.
fn is_known(scalar: &Scalar, half: bool) -> bool {
    let low = if half { u64::from(u32::MAX) } else { u64::MAX };
    scalar.var_off.mask & low == 0
}
