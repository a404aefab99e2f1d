//! Agreement between the five views of a scalar: each narrows the others.
//!
//! Kernel: `reg_bounds_sync`, `__update_reg_bounds`, `__reg_deduce_bounds`, `__reg_bound_offset`
//! (6.18).

use crate::bounds::Bounds;
use crate::deduction::Deduction;
use crate::{ScalarAt, Tnum};

/// Rounds of deduction: what one round deduces about the half can narrow the whole in the next.
const DEDUCE_ROUNDS: usize = 3;

impl<const W: u32, const H: u32> ScalarAt<W, H> {
    /// Makes the known bits and all bounds consistent, to the same extent as the kernel. Kernel:
    /// `reg_bounds_sync`.
    #[inline]
    pub fn sync(&mut self) {
        if self.exact_value().is_some() {
            return;
        }
        let mut v = Views { var_off: self.var_off, wide: self.wide(), half: self.half() };
        v.narrow_by_bits();
        let narrowed = v;
        if v.is_zero_extended() {
            v.var_off = v.var_off.intersect(Tnum::range(v.wide.umin, v.wide.umax));
        } else {
            v.agree();
        }
        // Narrowing by the same bits again would change nothing.
        if v != narrowed {
            v.narrow_by_bits();
        }
        self.var_off = v.var_off;
        self.set_wide(v.wide);
        self.set_half(v.half);
    }

    /// Narrows the bounds by the known bits only. Kernel: `__update_reg_bounds`.
    #[inline]
    pub(crate) fn narrow_by_bits(&mut self) {
        let mut v = Views { var_off: self.var_off, wide: self.wide(), half: self.half() };
        v.narrow_by_bits();
        self.var_off = v.var_off;
        self.set_wide(v.wide);
        self.set_half(v.half);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Views<const W: u32, const H: u32> {
    pub(crate) var_off: Tnum,
    pub(crate) wide: Bounds<W>,
    pub(crate) half: Bounds<H>,
}

impl<const W: u32, const H: u32> Views<W, H> {
    #[inline]
    pub(crate) fn narrow_by_bits(&mut self) {
        // Most values have no known bit: they narrow nothing.
        if self.var_off.mask == Bounds::<W>::UMAX && self.wide.umin < self.wide.umax {
            return;
        }
        self.narrow_ends();
        if self.wide.umin != self.wide.umax || !self.var_off.is_const() {
            self.pin_single_value();
        }
    }

    /// Lets the bounds narrow each other and the known bits.
    #[inline]
    fn agree(&mut self) {
        for _ in 0..DEDUCE_ROUNDS {
            let before = self.wide;
            self.deduce();
            // Another round would change nothing; see the tests.
            if self.wide == before && self.half.is_settled() {
                break;
            }
        }
        self.narrow_bits();
    }

    /// A half that is not negative, zero-extended: all bounds are the same, and only narrow the
    /// known bits.
    #[inline]
    fn is_zero_extended(&self) -> bool {
        let (wide, half) = (self.wide, self.half);
        half.umin == wide.umin
            && half.umax == wide.umax
            && half.smin == wide.smin
            && half.smax == wide.smax
            && half.smin as u64 == half.umin
            && half.smax as u64 == half.umax
            && half.smax >= 0
            && half.umin <= half.umax
    }

    /// The same by the rules of another kernel.
    pub(crate) fn narrow_by_bits_if(&mut self, single_values: bool) {
        match single_values {
            true => self.narrow_by_bits(),
            false => self.narrow_ends(),
        }
    }

    /// The bounds are already inside what the known bits allow.
    #[inline]
    pub(crate) fn narrow_ends(&mut self) {
        self.half.narrow_by(self.var_off);
        self.wide.narrow_by(self.var_off);
    }

    /// If only one value satisfies both the known bits and the unsigned bounds, the register has
    /// that value.
    #[inline]
    fn pin_single_value(&mut self) {
        let (t, Bounds { umin, umax, .. }) = (self.var_off, self.wide);
        let next = t.step(umin);
        let single = if t.has(umin) {
            (next > umax).then_some(umin)
        } else if next == t.value | t.mask {
            Some(next)
        } else {
            (next <= umax && t.step(next) > umax).then_some(next)
        };
        if let Some(value) = single {
            self.var_off = Tnum::constant(value);
            self.wide = Bounds::constant(value);
            self.half = Bounds::constant(value);
        }
    }

    #[inline]
    fn deduce(&mut self) {
        self.half_from_wide();
        self.half.narrow_each_by_other();
        self.wide.narrow_each_by_other();
        self.wide_from_half();
    }

    /// [`Views::deduce`] by the rules of another kernel.
    pub(crate) fn deduce_by(&mut self, how: Deduction) {
        if how.halves_and_wholes {
            self.half_from_wide();
        }
        self.half.narrow_each_by_other_if(how.half_across_signs);
        self.wide.narrow_each_by_other_if(how.wide_across_signs);
        if !how.halves_and_wholes {
            return;
        }
        let before = self.wide;
        match how.signed_halves {
            true => self.wide_from_half(),
            false => self.wide_ends_from_half(),
        }
        if !how.halves_replace {
            self.wide.narrow_s(before.smin, before.smax);
        }
    }

    /// The ends of the unsigned range, then those of the signed one, narrow the low half. Signed
    /// ends that are reversed within one upper half (on a branch that cannot be taken) are ignored.
    #[inline]
    fn half_from_wide(&mut self) {
        let wide = self.wide;
        self.half_from_ends(wide.umin, wide.umax);
        if wide.smin <= wide.smax || wide.smin >> H != wide.smax >> H {
            self.half_from_ends(wide.smin as u64, wide.smax as u64);
        }
    }

    /// Where the upper half is the same at both ends, the low halves of the ends bound the low
    /// half. Where the range passes one multiple of 2^H, from just below to just above, it is
    /// contiguous as signed halves.
    #[inline]
    fn half_from_ends(&mut self, min: u64, max: u64) {
        let (umin, umax) = (Bounds::<H>::to_u(min), Bounds::<H>::to_u(max));
        let (smin, smax) = (Bounds::<H>::to_s(min), Bounds::<H>::to_s(max));
        let (upper_min, upper_max) = (Bounds::<H>::to_u(min >> H), Bounds::<H>::to_u(max >> H));
        if upper_min == upper_max {
            self.half.narrow_u(umin, umax);
            if smin <= smax {
                self.half.narrow_s(smin, smax);
            }
        } else if Bounds::<H>::to_u(upper_min + 1) == upper_max && smin < 0 && smax >= 0 {
            self.half.narrow_s(smin, smax);
        }
    }

    /// The smallest value has at least the smallest low bits of the half, the largest at most the
    /// largest.
    #[inline]
    fn wide_ends_from_half(&mut self) {
        let (wide, half) = (&mut self.wide, self.half);
        let upper = !Bounds::<H>::UMAX;
        wide.narrow_u((wide.umin & upper) | half.umin, (wide.umax & upper) | half.umax);
        wide.narrow_s(
            (wide.smin & upper as i64) | half.umin as i64,
            (wide.smax & upper as i64) | half.umax as i64,
        );
    }

    /// The same; then, of a sign-extended half that is not negative, the upper half cannot be all
    /// ones. The kernel replaces the bounds of the whole here, even if they were narrower.
    #[inline]
    fn wide_from_half(&mut self) {
        self.wide_ends_from_half();
        let (wide, half) = (&mut self.wide, self.half);
        if half.smin >= 0 && wide.smin >= Bounds::<H>::SMIN && wide.smax <= Bounds::<H>::SMAX {
            let (min, max) = (half.smin, half.smax);
            *wide = Bounds { smin: min, smax: max, umin: min as u64, umax: max as u64 };
            self.var_off = self.var_off.intersect(Tnum::range(min as u64, max as u64));
        }
    }

    /// [`Views::narrow_bits`] by the rules of another kernel.
    pub(crate) fn narrow_bits_by(&mut self, how: Deduction) {
        let whole = self.var_off.intersect(Tnum::range(self.wide.umin, self.wide.umax));
        let of_half = if how.bits_reach_halves { whole } else { self.var_off };
        self.set_bits(whole, of_half);
    }

    /// Narrows the known bits by the unsigned bounds. Kernel: `__reg_bound_offset`.
    #[inline]
    pub(crate) fn narrow_bits(&mut self) {
        let whole = self.var_off.intersect(Tnum::range(self.wide.umin, self.wide.umax));
        self.set_bits(whole, whole);
    }

    /// Sets the known bits, those of the half narrowed by its bounds.
    #[inline]
    fn set_bits(&mut self, whole: Tnum, of_half: Tnum) {
        let low = Bounds::<H>::UMAX;
        let half = of_half.truncate(low).intersect(Tnum::range(self.half.umin, self.half.umax));
        self.var_off = whole.truncate(!low).or(half);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Small = Views<4, 2>;

    /// All bounds of `B` bits, contradictory ones, too.
    fn all<const B: u32>() -> Vec<Bounds<B>> {
        let signed = || Bounds::<B>::SMIN..=Bounds::<B>::SMAX;
        let unsigned = || 0..=Bounds::<B>::UMAX;
        let pairs = signed().flat_map(|smin| signed().map(move |smax| (smin, smax)));
        let bounds = pairs.flat_map(|(smin, smax)| {
            let of = move |umin| unsigned().map(move |umax| Bounds { smin, smax, umin, umax });
            unsigned().flat_map(of)
        });
        bounds.collect()
    }

    #[test]
    fn a_round_after_one_that_settled_changes_nothing() {
        let (halves, mut settled) = (all::<2>(), 0);
        for wide in all::<4>() {
            for &half in &halves {
                let mut v = Small { var_off: Tnum { value: 0, mask: 15 }, wide, half };
                v.deduce();
                if v.wide != wide || !v.half.is_settled() {
                    continue;
                }
                let once = v;
                v.deduce();
                assert!(v == once, "{wide:?} {half:?}");
                settled += 1;
            }
        }
        assert!(settled > 200_000, "{settled}");
    }

    #[test]
    fn equal_bounds_only_narrow_bits() {
        for (min, max) in (0..8).flat_map(|min| (min..8).map(move |max| (min, max))) {
            for value in 0..=255_u64 {
                for mask in (0..=255).filter(|mask| mask & value == 0) {
                    let (umin, umax) = (min as u64, max as u64);
                    let wide = Bounds { smin: min, smax: max, umin, umax };
                    let half = Bounds { smin: min, smax: max, umin, umax };
                    let v = Views::<8, 4> { var_off: Tnum { value, mask }, wide, half };
                    let (mut agreed, mut short) = (v, v);
                    assert!(v.is_zero_extended());
                    agreed.agree();
                    short.var_off = v.var_off.intersect(Tnum::range(umin, umax));
                    assert!(agreed == short, "[{min}, {max}] {value:x} {mask:x}");
                }
            }
        }
    }

    #[test]
    fn bits_that_are_all_unknown_narrow_nothing() {
        for wide in all::<4>().into_iter().filter(|wide| wide.umin < wide.umax) {
            for &half in &all::<2>() {
                let before = Small { var_off: Tnum { value: 0, mask: 15 }, wide, half };
                let mut v = before;
                v.narrow_ends();
                v.pin_single_value();
                assert!(v == before, "{wide:?} {half:?}");
            }
        }
    }
}
