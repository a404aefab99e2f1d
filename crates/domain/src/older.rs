//! The rules of kernels that learn less of a scalar than Linux 6.18.44.
//!
//! Why: a bound that a kernel does not deduce decides what it accepts and what it prunes. What is
//! deduced here is a part of what [`ScalarAt::sync`] deduces, in its order.

use crate::alu::combine;
use crate::sync::Views;
use crate::{AluOp, JmpOp, ScalarAt, refine};

/// What a kernel deduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deduction {
    /// Signed bounds of 64 bits that cross zero learn from unsigned ones that miss one side.
    pub wide_across_signs: bool,
    /// The same for those of the low half.
    pub half_across_signs: bool,
}

impl<const W: u32, const H: u32> ScalarAt<W, H> {
    /// [`ScalarAt::sync`] by other rules.
    pub fn sync_by(&mut self, how: Deduction) {
        if self.exact_value().is_some() {
            return;
        }
        let mut v = Views { var_off: self.var_off, wide: self.wide(), half: self.half() };
        v.narrow_by_bits();
        let narrowed = v;
        // Kernels that do not cross signs go through their rules once less.
        for _ in 0..if how.wide_across_signs { 3 } else { 2 } {
            let before = v;
            v.deduce_by(how);
            if v == before {
                break;
            }
        }
        v.narrow_bits();
        if v != narrowed {
            v.narrow_by_bits();
        }
        self.var_off = v.var_off;
        self.set_wide(v.wide);
        self.set_half(v.half);
    }
}

/// [`crate::alu`] by other rules.
pub fn alu_by<const W: u32, const H: u32>(
    how: Deduction,
    (op, wide): (AluOp, bool),
    dst: &mut ScalarAt<W, H>,
    src: &ScalarAt<W, H>,
) -> bool {
    if !op.is_computable(wide, src) {
        *dst = ScalarAt::unknown();
        return false;
    }
    if dst.exact_value().is_some() && src.exact_value().is_some() {
        return crate::alu(op, wide, dst, src);
    }
    combine(op, wide, dst, src);
    dst.sync_by(how);
    true
}

/// [`crate::refine_branches`] by other rules.
pub fn refine_branches_by<const W: u32, const H: u32>(
    how: Deduction,
    (op, is_jmp32): (JmpOp, bool),
    a: &mut ScalarAt<W, H>,
    b: &mut ScalarAt<W, H>,
) {
    refine(op, is_jmp32, a, b);
    a.sync_by(how);
    b.sync_by(how);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scalar;

    const LESS: Deduction = Deduction { wide_across_signs: false, half_across_signs: false };

    /// `-8 <= s <= 5` as signed numbers, `u <= 10`: only a kernel that crosses signs knows that it
    /// is at least 0.
    #[test]
    fn less_is_learned_across_signs() {
        let mut s = Scalar::unknown();
        (s.smin, s.smax, s.umax) = (-8, 5, 10);
        let (mut less, mut more) = (s, s);
        less.sync_by(LESS);
        more.sync();
        assert_eq!((less.smin, less.umax), (-8, 10));
        assert_eq!((more.smin, more.umax), (0, 5));
        let mut same = s;
        same.sync_by(Deduction { wide_across_signs: true, half_across_signs: true });
        assert_eq!(same, more);
    }
}
