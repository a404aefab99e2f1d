//! Comparisons of scalars of kernels whose ranges wrap.

use crate::arc::Arc;
use crate::bounds::Bounds;
use crate::wrapped::meet_both;
use crate::{JmpOp, ScalarAt, Tnum, is_branch_taken};

/// One operand at the width of the comparison.
struct Side<const B: u32> {
    arc: Option<Arc<B>>,
    bits: Tnum,
}

impl<const B: u32> Side<B> {
    fn bounds(&self) -> Bounds<B> {
        self.arc.map_or(Bounds::NOTHING, Arc::bounds)
    }

    fn narrow_u(&mut self, min: u64, max: u64) {
        self.arc =
            if min <= max { meet_both(self.arc, Some(Arc::<B>::between(min, max))) } else { None };
    }

    fn narrow_s(&mut self, min: i64, max: i64) {
        let range = Arc::<B>::between(min as u64, max as u64);
        self.arc = if min <= max { meet_both(self.arc, Some(range)) } else { None };
    }
}

/// [`is_branch_taken`] where ranges wrap: a side on which an operand has no possible value is dead.
pub fn is_taken_wrapped<const W: u32, const H: u32>(
    a: &ScalarAt<W, H>,
    b: &ScalarAt<W, H>,
    op: JmpOp,
    is_jmp32: bool,
) -> Option<bool> {
    let dead = |op: JmpOp| {
        let (mut x, mut y) = (*a, *b);
        refine_wrapped(op, is_jmp32, &mut x, &mut y);
        x.violated_rule().is_some() || y.violated_rule().is_some()
    };
    match is_branch_taken(a, b, op, is_jmp32) {
        None if dead(op.negated()) => Some(true),
        None if dead(op) => Some(false),
        taken => taken,
    }
}

/// [`crate::refine_branches`] where ranges wrap.
pub fn refine_wrapped<const W: u32, const H: u32>(
    op: JmpOp,
    is_jmp32: bool,
    a: &mut ScalarAt<W, H>,
    b: &mut ScalarAt<W, H>,
) {
    let is_const =
        |it: &ScalarAt<W, H>| if is_jmp32 { it.is_subreg_const() } else { it.is_const() };
    if matches!(op, JmpOp::Set | JmpOp::Nset) {
        // After a test that found no bit, only the known bits are used.
        match (is_const(a), is_const(b)) {
            (false, false) => return,
            (_, true) if op == JmpOp::Nset => a.mark_unbounded(),
            (true, false) if op == JmpOp::Nset => b.mark_unbounded(),
            _ => {}
        }
    }
    let (mut x, mut y) = (a.known(), b.known());
    if is_jmp32 {
        let low = Bounds::<H>::UMAX;
        let mut p = Side::<H> { arc: x.half, bits: x.bits.truncate(low) };
        let mut q = Side::<H> { arc: y.half, bits: y.bits.truncate(low) };
        narrow_sides(op, &mut p, &mut q);
        for (known, side) in [(&mut x, p), (&mut y, q)] {
            known.half = side.arc;
            known.bits = known.bits.truncate(!low).or(side.bits);
        }
    } else {
        let mut p = Side::<W> { arc: x.wide, bits: x.bits };
        let mut q = Side::<W> { arc: y.wide, bits: y.bits };
        narrow_sides(op, &mut p, &mut q);
        for (known, side) in [(&mut x, p), (&mut y, q)] {
            known.wide = side.arc;
            known.bits = side.bits;
        }
    }
    for (reg, mut known) in [(a, x), (b, y)] {
        known.sync();
        reg.set_known(known);
    }
}

fn narrow_sides<const B: u32>(op: JmpOp, x: &mut Side<B>, y: &mut Side<B>) {
    match op {
        JmpOp::Eq => {
            x.arc = meet_both(x.arc, y.arc);
            x.bits = x.bits.intersect(y.bits);
            y.arc = x.arc;
            y.bits = x.bits;
        }
        JmpOp::Ne => with_known(x, y, leave_out),
        JmpOp::Set => with_known(x, y, |x, tested| {
            if tested.is_power_of_two() {
                x.bits = x.bits.or(Tnum::constant(tested));
            }
        }),
        JmpOp::Nset => with_known(x, y, |x, tested| x.bits = x.bits.and(Tnum::constant(!tested))),
        JmpOp::Lt => below_u(x, y, 1),
        JmpOp::Le => below_u(x, y, 0),
        JmpOp::Slt => below_s(x, y, 1),
        JmpOp::Sle => below_s(x, y, 0),
        JmpOp::Gt => below_u(y, x, 1),
        JmpOp::Ge => below_u(y, x, 0),
        JmpOp::Sgt => below_s(y, x, 1),
        JmpOp::Sge => below_s(y, x, 0),
    }
}

/// All numbers but one form an arc.
fn leave_out<const B: u32>(x: &mut Side<B>, value: u64) {
    let rest = Arc::<B>::between(value.wrapping_add(1), value.wrapping_sub(1));
    let alone = Arc::<B>::between(value, value);
    x.arc = x.arc.filter(|arc| *arc != alone).and_then(|arc| arc.meet(rest));
}

fn below_u<const B: u32>(x: &mut Side<B>, y: &mut Side<B>, gap: u64) {
    match y.bounds().umax.checked_sub(gap) {
        Some(most) => x.narrow_u(0, most),
        None => x.arc = None,
    }
    y.narrow_u(x.bounds().umin.saturating_add(gap), Bounds::<B>::UMAX);
}

fn below_s<const B: u32>(x: &mut Side<B>, y: &mut Side<B>, gap: i64) {
    match y.bounds().smax.checked_sub(gap) {
        Some(most) => x.narrow_s(Bounds::<B>::SMIN, most),
        None => x.arc = None,
    }
    y.narrow_s(x.bounds().smin.saturating_add(gap), Bounds::<B>::SMAX);
}

/// The second operand is preferred as the constant.
fn with_known<const B: u32>(
    x: &mut Side<B>,
    y: &mut Side<B>,
    narrow: impl FnOnce(&mut Side<B>, u64),
) {
    if y.bits.is_const() {
        narrow(x, y.bits.value);
    } else if x.bits.is_const() {
        narrow(y, x.bits.value);
    }
}
