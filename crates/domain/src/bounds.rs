//! The four bounds of one width: what is known about a whole register, or its low half, as a
//! number.
//!
//! Why: a register is bounded twice, as 64 bits and as its low 32; every rule that looks at one
//! width alone is written once here. Values are kept sign-extended (`smin`, `smax`) or
//! zero-extended (`umin`, `umax`) from `W` bits.
//!
//! # Invariants
//! 1. Every result fits `W` bits in its signedness: arithmetic goes through [`Bounds::to_u`] and
//!    [`Bounds::to_s`].
//! 2. Contradictory bounds (from a branch that cannot be taken) give some result, never a panic.
//!
//! Kernel: `scalar_min_max_*`, `scalar32_min_max_*`, `__update_reg*_bounds`, `__reg*_deduce_bounds`
//! (6.18).

use crate::Tnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds<const W: u32> {
    pub(crate) smin: i64,
    pub(crate) smax: i64,
    pub(crate) umin: u64,
    pub(crate) umax: u64,
}

impl<const W: u32> Bounds<W> {
    pub(crate) const UMAX: u64 = u64::MAX >> (64 - W);
    pub(crate) const SMIN: i64 = i64::MIN >> (64 - W);
    pub(crate) const SMAX: i64 = i64::MAX >> (64 - W);
    pub(crate) const UNKNOWN: Self =
        Self { smin: Self::SMIN, smax: Self::SMAX, umin: 0, umax: Self::UMAX };

    /// What no number has.
    pub(crate) const NOTHING: Self =
        Self { smin: Self::SMAX, smax: Self::SMIN, umin: Self::UMAX, umax: 0 };

    /// The low `W` bits as an unsigned number.
    #[inline(always)]
    pub(crate) const fn to_u(v: u64) -> u64 {
        v & Self::UMAX
    }

    /// The low `W` bits as a signed number.
    #[inline(always)]
    pub(crate) const fn to_s(v: u64) -> i64 {
        ((v << (64 - W)) as i64) >> (64 - W)
    }

    #[inline]
    pub(crate) const fn constant(v: u64) -> Self {
        let (s, u) = (Self::to_s(v), Self::to_u(v));
        Self { smin: s, smax: s, umin: u, umax: u }
    }

    #[inline]
    pub(crate) fn clear_signed(&mut self) {
        (self.smin, self.smax) = (Self::SMIN, Self::SMAX);
    }

    #[inline]
    pub(crate) fn clear_unsigned(&mut self) {
        (self.umin, self.umax) = (0, Self::UMAX);
    }

    #[inline]
    pub(crate) fn narrow_s(&mut self, min: i64, max: i64) {
        self.smin = self.smin.max(min);
        self.smax = self.smax.min(max);
    }

    #[inline]
    pub(crate) fn narrow_u(&mut self, min: u64, max: u64) {
        self.umin = self.umin.max(min);
        self.umax = self.umax.min(max);
    }

    /// Narrows by the known bits; only the low `W` are used.
    #[inline]
    pub(crate) fn narrow_by(&mut self, t: Tnum) {
        let sign = 1u64 << (W - 1);
        self.narrow_s(
            Self::to_s(t.value | (t.mask & sign)),
            Self::to_s(t.value | (t.mask & (Self::UMAX >> 1))),
        );
        self.narrow_u(Self::to_u(t.value), Self::to_u(t.value | t.mask));
    }

    /// Narrows signed and unsigned bounds by each other where one of the ranges does not cross the
    /// sign boundary.
    ///
    /// A signed range that crosses zero consists of two unsigned pieces; if the unsigned range does
    /// not intersect one piece, the values are in the other.
    #[inline]
    pub(crate) fn narrow_each_by_other(&mut self) {
        let (smin, smax) = (Self::to_s(self.umin), Self::to_s(self.umax));
        if smin <= smax {
            self.narrow_s(smin, smax);
        }
        let (low, high) = (Self::to_u(self.smin as u64), Self::to_u(self.smax as u64));
        if low <= high {
            self.narrow_u(low, high);
        } else if self.umax < low {
            self.smin = Self::to_s(self.umin);
            self.umax = self.umax.min(high);
        } else if high < self.umin {
            self.smax = Self::to_s(self.umax);
            self.umin = self.umin.max(low);
        }
    }

    /// Whether [`Bounds::narrow_each_by_other`] would change nothing.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        let mut narrowed = *self;
        narrowed.narrow_each_by_other();
        narrowed == *self
    }

    /// [`Bounds::narrow_each_by_other`]; a signed range that crosses zero is used only if the
    /// kernel does so.
    pub(crate) fn narrow_each_by_other_if(&mut self, across_signs: bool) {
        if across_signs || Self::to_u(self.smin as u64) <= Self::to_u(self.smax as u64) {
            return self.narrow_each_by_other();
        }
        let (min, max) = (Self::to_s(self.umin), Self::to_s(self.umax));
        if min <= max {
            self.narrow_s(min, max);
            let (low, high) = (Self::to_u(self.smin as u64), Self::to_u(self.smax as u64));
            if low <= high {
                self.narrow_u(low, high);
            }
        }
    }

    /// A single value in both views.
    #[inline]
    pub(crate) fn is_const(&self) -> bool {
        self.smin == self.smax && self.umin == self.umax
    }

    /// Signed results are dropped if either end overflows; unsigned ones only if one end wraps and
    /// the other does not.
    #[inline]
    pub(crate) fn add(self, b: Self) -> Self {
        let smin = Self::to_s(self.smin.wrapping_add(b.smin) as u64);
        let smax = Self::to_s(self.smax.wrapping_add(b.smax) as u64);
        let umin = Self::to_u(self.umin.wrapping_add(b.umin));
        let umax = Self::to_u(self.umax.wrapping_add(b.umax));
        let s_over = (smin < self.smin) != (b.smin < 0) || (smax < self.smax) != (b.smax < 0);
        let u_over = umin >= self.umin && umax < self.umax;
        Self::keep(Self { smin, smax, umin, umax }, s_over, u_over)
    }

    /// As [`Self::add`]: the least result is `min - max`, the greatest `max - min`.
    #[inline]
    pub(crate) fn sub(self, b: Self) -> Self {
        let smin = Self::to_s(self.smin.wrapping_sub(b.smax) as u64);
        let smax = Self::to_s(self.smax.wrapping_sub(b.smin) as u64);
        let umin = Self::to_u(self.umin.wrapping_sub(b.umax));
        let umax = Self::to_u(self.umax.wrapping_sub(b.umin));
        let s_over = (smin > self.smin) != (b.smax < 0) || (smax > self.smax) != (b.smin < 0);
        let u_over = self.umin < b.umax && self.umax >= b.umin;
        Self::keep(Self { smin, smax, umin, umax }, s_over, u_over)
    }

    #[inline]
    fn keep(mut self, s_over: bool, u_over: bool) -> Self {
        if s_over {
            self.clear_signed();
        }
        if u_over {
            self.clear_unsigned();
        }
        self
    }

    /// Products of the corners, dropped if any overflows.
    #[inline]
    pub(crate) fn mul(self, b: Self) -> Self {
        let mut out = Self::UNKNOWN;
        let (top, over) = self.umax.overflowing_mul(b.umax);
        if !over && top <= Self::UMAX {
            out.umax = top;
            out.umin = Self::to_u(self.umin.wrapping_mul(b.umin));
        }
        let corners = [
            Self::mul_s(self.smin, b.smin),
            Self::mul_s(self.smin, b.smax),
            Self::mul_s(self.smax, b.smin),
            Self::mul_s(self.smax, b.smax),
        ];
        if let [Some(p), Some(q), Some(r), Some(s)] = corners {
            out.smin = p.min(q).min(r).min(s);
            out.smax = p.max(q).max(r).max(s);
        }
        out
    }

    #[inline]
    fn mul_s(a: i64, b: i64) -> Option<i64> {
        a.checked_mul(b).filter(|p| (Self::SMIN..=Self::SMAX).contains(p))
    }

    /// `t` is what is known about the bits of the result.
    #[inline]
    pub(crate) fn and(self, b: Self, t: Tnum) -> Self {
        Self::from_u(Self::to_u(t.value), self.umax.min(b.umax))
    }

    #[inline]
    pub(crate) fn or(self, b: Self, t: Tnum) -> Self {
        Self::from_u(self.umin.max(b.umin), Self::to_u(t.value | t.mask))
    }

    #[inline]
    pub(crate) fn xor(t: Tnum) -> Self {
        Self::from_u(Self::to_u(t.value), Self::to_u(t.value | t.mask))
    }

    /// The signed bounds are the unsigned ones where these do not cross the sign boundary.
    #[inline]
    fn from_u(umin: u64, umax: u64) -> Self {
        let mut out = Self { umin, umax, ..Self::UNKNOWN };
        let (smin, smax) = (Self::to_s(umin), Self::to_s(umax));
        if smin <= smax {
            (out.smin, out.smax) = (smin, smax);
        }
        out
    }

    /// The sign becomes unknown; the unsigned bounds are shifted if no set bit can be shifted out.
    #[inline]
    pub(crate) fn lsh(self, shift: u32) -> Self {
        let mut out = Self::UNKNOWN;
        if shift < W && self.umax <= 1u64 << (W - 1 - shift) {
            out.umin = Self::to_u(self.umin << shift);
            out.umax = Self::to_u(self.umax << shift);
        }
        out
    }

    /// The sign bit is shifted out, or stays if `shift` is 0: this function does not decide that.
    #[inline]
    pub(crate) fn rsh(self, shift: u32) -> Self {
        Self { umin: self.umin >> shift, umax: self.umax >> shift, ..Self::UNKNOWN }
    }

    #[inline]
    pub(crate) fn arsh(self, shift: u32) -> Self {
        Self { smin: self.smin >> shift, smax: self.smax >> shift, ..Self::UNKNOWN }
    }
}
