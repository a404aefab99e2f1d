//! What a comparison implies for its operands on the branch where it holds.
//!
//! Kernel: `regs_refine_cond_op`, `reg_set_min_max` (6.18).

use crate::bounds::Bounds;
use crate::{JmpOp, ScalarAt, Tnum};

/// One operand at the width of the comparison: its bounds and its known bits.
struct Operand<const B: u32> {
    bounds: Bounds<B>,
    bits: Tnum,
}

/// Narrows `a` and `b` to what `a op b` allows, without [`ScalarAt::sync`].
#[inline]
pub fn refine<const W: u32, const H: u32>(
    op: JmpOp,
    is_jmp32: bool,
    a: &mut ScalarAt<W, H>,
    b: &mut ScalarAt<W, H>,
) {
    if op == JmpOp::Nset {
        forget_bounds_of_tested(is_jmp32, a, b);
    }
    narrow_both(op, is_jmp32, a, b);
}

/// [`refine`], with all bounds that were known before.
#[inline]
pub(crate) fn narrow_both<const W: u32, const H: u32>(
    op: JmpOp,
    is_jmp32: bool,
    a: &mut ScalarAt<W, H>,
    b: &mut ScalarAt<W, H>,
) {
    if is_jmp32 {
        let low = Bounds::<H>::UMAX;
        let mut x = Operand { bounds: a.half(), bits: a.var_off.truncate(low) };
        let mut y = Operand { bounds: b.half(), bits: b.var_off.truncate(low) };
        narrow(op, &mut x, &mut y);
        for (reg, operand) in [(a, x), (b, y)] {
            reg.set_half(operand.bounds);
            reg.var_off = reg.var_off.truncate(!low).or(operand.bits);
        }
    } else {
        let mut x = Operand { bounds: a.wide(), bits: a.var_off };
        let mut y = Operand { bounds: b.wide(), bits: b.var_off };
        narrow(op, &mut x, &mut y);
        for (reg, operand) in [(a, x), (b, y)] {
            reg.set_wide(operand.bounds);
            reg.var_off = operand.bits;
        }
    }
}

/// After a test that found no bit, the kernel uses the known bits alone: on a branch that cannot be
/// taken, older bounds would contradict them.
#[inline]
fn forget_bounds_of_tested<const W: u32, const H: u32>(
    is_jmp32: bool,
    a: &mut ScalarAt<W, H>,
    b: &mut ScalarAt<W, H>,
) {
    let known = |r: &ScalarAt<W, H>| if is_jmp32 { r.is_subreg_const() } else { r.is_const() };
    if known(b) {
        a.mark_unbounded();
    } else if known(a) {
        b.mark_unbounded();
    }
}

/// Narrows the operands of one outcome of `a op b` and syncs both; for the false outcome pass
/// `op.negated()`.
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

/// [`refine_branches`] for a register compared with itself: the kernel narrows it as both operands,
/// in place, so that `r < r` removes both ends.
pub fn refine_same<const W: u32, const H: u32>(op: JmpOp, is_jmp32: bool, a: &mut ScalarAt<W, H>) {
    narrow_by_itself(op, is_jmp32, a);
    a.sync();
    a.sync();
}

/// [`refine_same`] without [`ScalarAt::sync`].
pub(crate) fn narrow_by_itself<const W: u32, const H: u32>(
    op: JmpOp,
    is_jmp32: bool,
    a: &mut ScalarAt<W, H>,
) {
    let mut b = *a;
    refine(op, is_jmp32, a, &mut b);
    let (mut wide, mut half) = (a.wide(), a.half());
    let (b_wide, b_half) = (b.wide(), b.half());
    wide.narrow_u(b_wide.umin, b_wide.umax);
    wide.narrow_s(b_wide.smin, b_wide.smax);
    half.narrow_u(b_half.umin, b_half.umax);
    half.narrow_s(b_half.smin, b_half.smax);
    a.set_wide(wide);
    a.set_half(half);
}

#[inline]
fn narrow<const B: u32>(op: JmpOp, x: &mut Operand<B>, y: &mut Operand<B>) {
    match op {
        JmpOp::Eq => narrow_equal(x, y),
        JmpOp::Ne => with_const(x, y, trim_ends),
        JmpOp::Set => with_const(x, y, set_single_bit),
        JmpOp::Nset => with_const(x, y, clear_bits),
        JmpOp::Lt => narrow_below_u(x, y, 1),
        JmpOp::Le => narrow_below_u(x, y, 0),
        JmpOp::Slt => narrow_below_s(x, y, 1),
        JmpOp::Sle => narrow_below_s(x, y, 0),
        JmpOp::Gt => narrow_below_u(y, x, 1),
        JmpOp::Ge => narrow_below_u(y, x, 0),
        JmpOp::Sgt => narrow_below_s(y, x, 1),
        JmpOp::Sge => narrow_below_s(y, x, 0),
    }
}

#[inline]
fn narrow_equal<const B: u32>(x: &mut Operand<B>, y: &mut Operand<B>) {
    x.bounds.narrow_u(y.bounds.umin, y.bounds.umax);
    x.bounds.narrow_s(y.bounds.smin, y.bounds.smax);
    x.bits = x.bits.intersect(y.bits);
    y.bounds = x.bounds;
    y.bits = x.bits;
}

/// `x < y` by at least `gap`. Wraps only on a branch that cannot be taken.
#[inline]
fn narrow_below_u<const B: u32>(x: &mut Operand<B>, y: &mut Operand<B>, gap: u64) {
    let (x, y) = (&mut x.bounds, &mut y.bounds);
    x.umax = x.umax.min(Bounds::<B>::to_u(y.umax.wrapping_sub(gap)));
    y.umin = y.umin.max(Bounds::<B>::to_u(x.umin.wrapping_add(gap)));
}

#[inline]
fn narrow_below_s<const B: u32>(x: &mut Operand<B>, y: &mut Operand<B>, gap: i64) {
    let (x, y) = (&mut x.bounds, &mut y.bounds);
    x.smax = x.smax.min(Bounds::<B>::to_s(y.smax.wrapping_sub(gap) as u64));
    y.smin = y.smin.max(Bounds::<B>::to_s(x.smin.wrapping_add(gap) as u64));
}

/// Runs `narrow` on the non-constant operand if one is constant; the second is preferred as the
/// constant.
#[inline]
fn with_const<const B: u32>(
    x: &mut Operand<B>,
    y: &mut Operand<B>,
    narrow: impl FnOnce(&mut Operand<B>, u64),
) {
    if y.bits.is_const() {
        narrow(x, y.bits.value);
    } else if x.bits.is_const() {
        narrow(y, x.bits.value);
    }
}

/// An excluded value narrows the bounds only if it is one of their ends.
#[inline]
fn trim_ends<const B: u32>(x: &mut Operand<B>, excluded: u64) {
    let x = &mut x.bounds;
    let signed = Bounds::<B>::to_s(excluded);
    if x.umin == excluded {
        x.umin = Bounds::<B>::to_u(x.umin.wrapping_add(1));
    }
    if x.umax == excluded {
        x.umax = Bounds::<B>::to_u(x.umax.wrapping_sub(1));
    }
    if x.smin == signed {
        x.smin = Bounds::<B>::to_s(x.smin.wrapping_add(1) as u64);
    }
    if x.smax == signed {
        x.smax = Bounds::<B>::to_s(x.smax.wrapping_sub(1) as u64);
    }
}

/// One of several tested bits is set, but it is unknown which.
#[inline]
fn set_single_bit<const B: u32>(x: &mut Operand<B>, tested: u64) {
    if tested.is_power_of_two() {
        x.bits = x.bits.or(Tnum::constant(tested));
    }
}

#[inline]
fn clear_bits<const B: u32>(x: &mut Operand<B>, tested: u64) {
    x.bits = x.bits.and(Tnum::constant(!tested));
}
