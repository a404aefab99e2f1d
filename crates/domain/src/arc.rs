//! Ranges that may wrap around: one arc of the circle of all numbers of a width.
//!
//! Why: kernels from 7.2 on keep one such range for a number and one for its low half, and read
//! signed and unsigned bounds from it. See J. A. Navas and others, "Signedness-Agnostic Program
//! Analysis: Precise Integer Bounds for Low-Level Code", 2012.

use crate::Tnum;
use crate::bounds::Bounds;

/// The numbers from `base` on, around the circle, `size + 1` of them. The full set has base 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arc<const W: u32> {
    pub(crate) base: u64,
    pub(crate) size: u64,
}

impl<const W: u32> Arc<W> {
    pub(crate) const ALL: Self = Self { base: 0, size: Bounds::<W>::UMAX };

    /// From `first` to `last`, wrapping around if the last is below the first.
    pub(crate) fn between(first: u64, last: u64) -> Self {
        let size = Bounds::<W>::to_u(last.wrapping_sub(first));
        if size == Bounds::<W>::UMAX {
            return Self::ALL;
        }
        Self { base: Bounds::<W>::to_u(first), size }
    }

    /// From the least to the greatest signed number that the bits allow.
    pub(crate) fn of_bits(t: Tnum) -> Self {
        let sign = 1u64 << (W - 1);
        Self::between(t.value | (t.mask & sign), t.value | (t.mask & (Bounds::<W>::UMAX >> 1)))
    }

    pub(crate) fn is_all(self) -> bool {
        self.size == Bounds::<W>::UMAX
    }

    pub(crate) fn last(self) -> u64 {
        Bounds::<W>::to_u(self.base.wrapping_add(self.size))
    }

    pub(crate) fn has(self, value: u64) -> bool {
        Bounds::<W>::to_u(value.wrapping_sub(self.base)) <= self.size
    }

    /// Whether all of `other` is inside.
    pub(crate) fn covers(self, other: Self) -> bool {
        let from = Bounds::<W>::to_u(other.base.wrapping_sub(self.base));
        self.is_all() || from <= self.size && other.size <= self.size - from
    }

    /// A superset of the intersection, if it is not empty: if the intersection is two arcs, the
    /// smaller of the operands.
    pub(crate) fn meet(self, other: Self) -> Option<Self> {
        if self.is_all() {
            return Some(other);
        }
        if other.is_all() {
            return Some(self);
        }
        let (begins_in, ends_in) = (self.has(other.base), self.has(other.last()));
        let (holds, held) = (other.has(self.base), other.has(self.last()));
        match (begins_in, holds) {
            (false, false) => None,
            // Each begins within the other: the intersection is two pieces, or both begin at the
            // same number.
            (true, true) => {
                let smaller = (self.size, self.base) < (other.size, other.base);
                Some(if smaller { self } else { other })
            }
            (true, false) if ends_in => Some(other),
            (true, false) => Some(Self::between(other.base, self.last())),
            (false, true) if held => Some(self),
            (false, true) => Some(Self::between(self.base, other.last())),
        }
    }

    pub(crate) fn add(self, other: Self) -> Self {
        match self.size.checked_add(other.size).filter(|size| *size < Bounds::<W>::UMAX) {
            Some(size) => {
                Self { base: Bounds::<W>::to_u(self.base.wrapping_add(other.base)), size }
            }
            None => Self::ALL,
        }
    }

    pub(crate) fn neg(self) -> Self {
        if self.is_all() {
            return self;
        }
        Self { base: Bounds::<W>::to_u(self.last().wrapping_neg()), size: self.size }
    }

    /// The bounds that it has.
    pub(crate) fn bounds(self) -> Bounds<W> {
        let (first, last) = (self.base, self.last());
        let mut out = Bounds::<W>::UNKNOWN;
        if first <= last {
            (out.umin, out.umax) = (first, last);
        }
        let (first, last) = (Bounds::<W>::to_s(first), Bounds::<W>::to_s(last));
        if first <= last {
            (out.smin, out.smax) = (first, last);
        }
        out
    }

    /// Whether the bounds do not restrict it.
    pub(crate) fn is_hidden(self) -> bool {
        !self.is_all() && self.bounds() == Bounds::UNKNOWN
    }

    /// The arc of the given bounds; `None` if they contradict each other.
    pub(crate) fn of_bounds(b: Bounds<W>) -> Option<Self> {
        if b.umin > b.umax || b.smin > b.smax {
            return None;
        }
        Self::between(b.umin, b.umax).meet(Self::between(b.smin as u64, b.smax as u64))
    }
}
