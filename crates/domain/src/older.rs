//! The rules of kernels that deduce less about a scalar than Linux 6.18.44.
//!
//! Why: a bound that a kernel does not deduce affects what it accepts and what it prunes. These
//! rules deduce a subset of what [`ScalarAt::sync`] does, in the same order.

use crate::alu::{arithmetic, shift};
use crate::bounds::Bounds;
use crate::deduction::Deduction;
use crate::refine::{narrow_both, narrow_by_itself};
use crate::sync::Views;
use crate::{AluOp, JmpOp, ScalarAt, Tnum, refine};

/// `out`, the bounds of a sum, difference or product, as computed by kernels that deduce less.
fn weaken<const B: u32>(
    how: Deduction,
    op: AluOp,
    a: Bounds<B>,
    b: Bounds<B>,
    out: Bounds<B>,
) -> Bounds<B> {
    let overflows = match op {
        AluOp::Add => {
            let wraps = |x: u64, y: u64| Bounds::<B>::to_u(x.wrapping_add(y)) < x;
            wraps(a.umin, b.umin) || wraps(a.umax, b.umax)
        }
        AluOp::Sub => a.umin < b.umax,
        AluOp::Mul if !how.signed_products => return positive_product(a, b),
        _ => false,
    };
    match overflows && !how.both_overflow {
        true => Bounds { umin: 0, umax: Bounds::<B>::UMAX, ..out },
        false => out,
    }
}

/// The product of two non-negative numbers that fit into half the bits.
fn positive_product<const B: u32>(a: Bounds<B>, b: Bounds<B>) -> Bounds<B> {
    let most = (1u64 << (B / 2)) - 1;
    if a.smin < 0 || b.smin < 0 || a.umax > most || b.umax > most {
        return Bounds::UNKNOWN;
    }
    let (umin, umax) = (a.umin * b.umin, a.umax * b.umax);
    let mut out = Bounds { umin, umax, ..Bounds::UNKNOWN };
    if umax <= Bounds::<B>::SMAX as u64 {
        (out.smin, out.smax) = (umin as i64, umax as i64);
    }
    out
}

impl<const W: u32, const H: u32> ScalarAt<W, H> {
    fn narrow_by_bits_if(&mut self, single_values: bool) {
        let mut v = Views { var_off: self.var_off, wide: self.wide(), half: self.half() };
        v.narrow_by_bits_if(single_values);
        self.var_off = v.var_off;
        self.set_wide(v.wide);
        self.set_half(v.half);
    }

    /// [`ScalarAt::sync`] by other rules.
    pub fn sync_by(&mut self, how: Deduction) {
        if self.exact_value().is_some() {
            return;
        }
        let mut v = Views { var_off: self.var_off, wide: self.wide(), half: self.half() };
        v.narrow_by_bits_if(how.single_values);
        let narrowed = v;
        // Kernels without the deduction across signs make one round less.
        for _ in 0..if how.wide_across_signs { 3 } else { 2 } {
            let before = v;
            v.deduce_by(how);
            if v == before {
                break;
            }
        }
        v.narrow_bits_by(how);
        if v != narrowed {
            v.narrow_by_bits_if(how.single_values);
        }
        self.var_off = v.var_off;
        self.set_wide(v.wide);
        self.set_half(v.half);
    }
}

/// The result of an insn before its views are synced.
fn combine_by<const W: u32, const H: u32>(
    how: Deduction,
    op: AluOp,
    wide: bool,
    dst: &mut ScalarAt<W, H>,
    src: &ScalarAt<W, H>,
) {
    if matches!(op, AluOp::Lsh | AluOp::Rsh | AluOp::Arsh) {
        shift(op, wide, dst, src);
        dst.narrow_by_bits_if(how.single_values);
    } else {
        let (whole, half) = (dst.wide(), dst.half());
        let bits = dst.var_off;
        arithmetic(op, dst, src);
        if op == AluOp::Mul {
            dst.var_off = bits.mul_by(how.products, src.var_off).truncate(Bounds::<W>::UMAX);
        }
        dst.set_wide(weaken(how, op, whole, src.wide(), dst.wide()));
        dst.set_half(weaken(how, op, half, src.half(), dst.half()));
    }
    if !wide {
        dst.zext_32_to_64();
    }
}

/// [`crate::alu`] by other rules.
pub fn alu_by<const W: u32, const H: u32>(
    how: Deduction,
    op: AluOp,
    wide: bool,
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
    combine_by(how, op, wide, dst, src);
    dst.sync_by(how);
    true
}

/// `dst += src`, with nothing deduced from the sum.
pub fn add_unsynced<const W: u32, const H: u32>(
    how: Deduction,
    wide: bool,
    dst: &mut ScalarAt<W, H>,
    src: &ScalarAt<W, H>,
) {
    combine_by(how, AluOp::Add, wide, dst, src);
}

/// [`crate::refine`] by other rules.
pub fn refine_by<const W: u32, const H: u32>(
    how: Deduction,
    op: JmpOp,
    is_jmp32: bool,
    a: &mut ScalarAt<W, H>,
    b: &mut ScalarAt<W, H>,
) {
    match how.tested_keep_bounds {
        true => narrow_both(op, is_jmp32, a, b),
        false => refine(op, is_jmp32, a, b),
    }
}

/// [`crate::refine_branches`] by other rules.
pub fn refine_branches_by<const W: u32, const H: u32>(
    how: Deduction,
    op: JmpOp,
    is_jmp32: bool,
    a: &mut ScalarAt<W, H>,
    b: &mut ScalarAt<W, H>,
) {
    refine_by(how, op, is_jmp32, a, b);
    a.sync_by(how);
    b.sync_by(how);
}

/// [`crate::refine_same`] by other rules.
pub fn refine_same_by<const W: u32, const H: u32>(
    how: Deduction,
    op: JmpOp,
    is_jmp32: bool,
    a: &mut ScalarAt<W, H>,
) {
    narrow_by_itself(op, is_jmp32, a);
    a.sync_by(how);
    a.sync_by(how);
}

impl<const W: u32, const H: u32> ScalarAt<W, H> {
    /// The bounds of the half, made from those of the whole where these fit into it.
    pub(crate) fn half_from_whole(&mut self) {
        let (wide, mut half) = (self.wide(), Bounds::<H>::UNKNOWN);
        let (least, most) = (Bounds::<H>::SMIN, Bounds::<H>::SMAX);
        if wide.smin >= least && wide.smax <= most {
            (half.smin, half.smax) = (wide.smin, wide.smax);
        }
        if wide.umax <= Bounds::<H>::UMAX {
            (half.umin, half.umax) = (wide.umin, wide.umax);
        }
        self.set_half(half);
    }

    /// The bounds of the whole, made from those of the half where the upper half is zero.
    fn whole_from_half(&mut self) {
        if self.var_off.truncate(!Bounds::<H>::UMAX) == Tnum::constant(0) {
            self.assign_32_into_64();
        } else {
            self.set_wide(Bounds::UNKNOWN);
        }
    }

    /// [`ScalarAt::truncate_to_bits`] by other rules.
    pub fn truncate_by(&mut self, how: Deduction, bits: u32) {
        if how.halves_and_wholes {
            return self.truncate_to_bits(bits);
        }
        let half = self.half();
        self.truncate_bare(bits);
        if bits < H {
            self.half_from_whole();
            self.sync_by(how);
        } else {
            self.set_half(half);
        }
    }
}

/// Makes the bounds of the half from those of the whole, or the reverse if `of_half`, after a
/// comparison of the other width, and syncs.
pub fn find_anew<const W: u32, const H: u32>(
    how: Deduction,
    of_half: bool,
    scalar: &mut ScalarAt<W, H>,
) {
    if scalar.exact_value().is_some() {
        return;
    }
    if of_half {
        scalar.whole_from_half();
    } else {
        scalar.half_from_whole();
    }
    scalar.sync_by(how);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Products, Scalar};

    const LESS: Deduction = Deduction {
        wide_across_signs: false,
        half_across_signs: false,
        single_values: false,
        both_overflow: false,
        signed_products: false,
        products: Products::Sums,
        signed_halves: true,
        halves_replace: true,
        halves_and_wholes: true,
        bits_reach_halves: true,
        tested_keep_bounds: false,
    };

    /// The lower half is 0 or 1, the whole above 3 and at most this, as 7.1.3 and 7.1.13 answered:
    /// the unsigned bounds are replaced by those of a half that is less bounded as a signed number.
    #[test]
    fn a_half_replaces_the_unsigned_bounds_alone() {
        let how = Deduction { halves_replace: false, ..Deduction::REFERENCE };
        let noticed = |most| {
            let mut s = Scalar::unknown();
            refine_branches_by(how, JmpOp::Le, true, &mut s, &mut Scalar::constant(1));
            refine_branches_by(how, JmpOp::Gt, false, &mut s, &mut Scalar::constant(3));
            refine_branches_by(how, JmpOp::Le, false, &mut s, &mut Scalar::constant(most));
            s.violated_rule().is_some()
        };
        for most in [0x8000_0000, 0xffff_f000, 0xffff_ffff] {
            assert!(noticed(most), "{most:#x}");
        }
        for most in [10, 0x7ffff, 0x7fff_ffff, 0x1_0000_0000, 0x1_ffff_ffff] {
            assert!(!noticed(most), "{most:#x}");
        }
    }

    /// At least 52, of 33 bits: only the known bits remain.
    #[test]
    fn bounds_are_found_anew() {
        let mut s = Scalar::unknown();
        (s.umin, s.umax) = (52, 0x1_0000_0033);
        s.sync();
        let mut half = s;
        find_anew(LESS, true, &mut s);
        assert_eq!((s.umin, s.umax), (0, 0x1_ffff_ffff));
        half.u32_max = 10;
        find_anew(LESS, false, &mut half);
        assert_eq!((half.umin, half.u32_max), (52, u32::MAX));
    }

    /// What is known of a whole reaches the half in a comparison, and not before.
    #[test]
    fn halves_are_made_from_wholes_only_where_told() {
        let less = Deduction { halves_and_wholes: false, ..LESS };
        let mut s = Scalar::unknown();
        (s.smin, s.smax) = (-1, 0);
        let (mut told, mut more) = (s, s);
        s.sync_by(less);
        assert_eq!((s.smin, s.smax, s.s32_min, s.s32_max), (-1, 0, i32::MIN, i32::MAX));
        find_anew(less, false, &mut told);
        assert_eq!((told.s32_min, told.s32_max), (-1, 0));
        more.sync_by(LESS);
        assert_eq!((more.s32_min, more.s32_max), (-1, 0));

        let mut half = Scalar::unknown();
        half.u32_max = 10;
        let mut zero_extended = Scalar { var_off: half.var_off.truncate(0xffff_ffff), ..half };
        find_anew(less, true, &mut half);
        assert_eq!((half.umax, half.u32_max), (!0xffff_fff0, 10));
        find_anew(less, true, &mut zero_extended);
        assert_eq!((zero_extended.umax, zero_extended.smax), (10, 10));
    }

    /// 4 or 5, by the bounds of the whole: one unknown bit, or those of the half.
    #[test]
    fn bits_reach_the_half_or_not() {
        let less = Deduction { halves_and_wholes: false, ..LESS };
        let mut s = Scalar::unknown();
        (s.smin, s.smax) = (4, 5);
        let mut older = s;
        s.sync_by(less);
        assert_eq!((s.var_off.value, s.var_off.mask), (4, 1));
        older.sync_by(Deduction { bits_reach_halves: false, ..less });
        assert_eq!((older.var_off.value, older.var_off.mask), (0, 0xffff_ffff));
    }

    /// Bits 4 and 5 of the products 14 and 21, and of 3 and 9, as 5.10, 6.1 and 6.18.15 know them
    /// (`tests/kernels/witnesses/before.bpf.c`).
    #[test]
    fn bits_of_products_are_found_in_three_ways() {
        let (two_or_three, one_or_three) = (Tnum { value: 2, mask: 1 }, Tnum { value: 1, mask: 2 });
        let product = |how, (tnum, factor): (Tnum, u64)| tnum.mul_by(how, Tnum::constant(factor));
        let known = |how, operands, bit: u64| product(how, operands).mask & bit == 0;
        for (how, by_seven, by_three) in [
            (Products::Halves, false, false),
            (Products::Sums, true, false),
            (Products::Joined, true, true),
        ] {
            assert_eq!(known(how, (two_or_three, 7), 0x20), by_seven, "{how:?}");
            assert_eq!(known(how, (one_or_three, 3), 4), by_three, "{how:?}");
        }
    }

    /// 299 or 300, truncated to a byte: the ends have the same upper bits.
    #[test]
    fn a_truncated_scalar_keeps_what_fits() {
        let less = Deduction { halves_and_wholes: false, ..LESS };
        let mut s = Scalar::unknown();
        (s.umin, s.umax) = (299, 300);
        let mut word = s;
        s.truncate_by(less, 8);
        assert_eq!((s.umin, s.umax, s.u32_min, s.u32_max), (43, 44, 43, 44));
        word.truncate_by(less, 32);
        assert_eq!((word.umin, word.umax, word.u32_max), (299, 300, u32::MAX));
    }

    /// Every pair of ranges that fit into half of eight bits.
    #[test]
    fn products_are_inside() {
        let ranges = || (0u64..16).flat_map(|min| (min..16).map(move |max| (min, max)));
        for (a, b) in ranges().flat_map(|a| ranges().map(move |b| (a, b))) {
            let bounds = |(umin, umax): (u64, u64)| Bounds::<8> {
                umin,
                umax,
                smin: umin as i64,
                smax: umax as i64,
            };
            let out = positive_product(bounds(a), bounds(b));
            for (x, y) in [(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)] {
                let signed = i64::from((x * y) as u8 as i8);
                assert!((out.umin..=out.umax).contains(&(x * y)), "{a:?} {b:?}: {out:?}");
                assert!((out.smin..=out.smax).contains(&signed), "{a:?} {b:?}: {out:?}");
            }
        }
    }

    /// Of 0 and 16, the one that is not 0 is 16.
    #[test]
    fn single_values_are_known_or_not() {
        let mut s = Scalar::unknown();
        (s.var_off, s.umin) = (Tnum { value: 0, mask: 16 }, 1);
        let (mut less, mut more) = (s, s);
        less.sync_by(LESS);
        more.sync_by(Deduction::REFERENCE);
        assert_eq!((less.umin, less.umax, less.is_const()), (1, 16, false));
        assert_eq!(more, Scalar::constant(16));
    }

    /// Two numbers of at least 2^63, and two that may be negative.
    #[test]
    fn sums_and_products_are_bounded_or_not() {
        let mut high = Scalar::unknown();
        high.umin = 1 << 63;
        high.sync();
        let (mut less, mut more) = (high, high);
        assert!(alu_by(LESS, AluOp::Add, true, &mut less, &high));
        assert!(crate::alu(AluOp::Add, true, &mut more, &high));
        assert_eq!((less.umax, more.umax), (u64::MAX, u64::MAX - 1));

        let mut small = Scalar::unknown();
        (small.smin, small.smax) = (-4, 11);
        small.sync();
        let (mut less, mut more, by) = (small, small, Scalar::constant(3));
        assert!(alu_by(LESS, AluOp::Mul, true, &mut less, &by));
        assert!(crate::alu(AluOp::Mul, true, &mut more, &by));
        assert_eq!((less.smin, less.smax), (i64::MIN, i64::MAX));
        assert_eq!((more.smin, more.smax), (-12, 33));
    }

    /// `-8 <= s <= 5` as signed numbers, `u <= 2^63 + 5`: only a kernel that deduces across signs
    /// knows that it is at least 0.
    #[test]
    fn less_is_learned_across_signs() {
        let mut s = Scalar::unknown();
        (s.smin, s.smax, s.umax) = (-8, 5, (1 << 63) + 5);
        let (mut less, mut more) = (s, s);
        less.sync_by(LESS);
        more.sync();
        assert_eq!((less.smin, less.smax), (-8, 5));
        assert_eq!((more.smin, more.umax), (0, 5));
        let mut same = s;
        same.sync_by(Deduction::REFERENCE);
        assert_eq!(same, more);
    }
}
