//! Tristate numbers: which bits of a value are known, and their values.
//!
//! Kernel: `tnum_*` (6.18), documented in "Sound, Precise, and Fast Abstract Interpretation with
//! Tristate Numbers" (CGO 2022).

use crate::deduction::Products;
use std::fmt;

/// A set of 64-bit values: bit i is `value` bit i where `mask` bit i is 0, unknown where it is 1.
///
/// # Invariants
/// 1. `value & mask == 0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tnum {
    /// The known bits.
    pub value: u64,
    /// The unknown bits.
    pub mask: u64,
}

impl Tnum {
    /// Any value.
    pub const UNKNOWN: Self = Self { value: 0, mask: u64::MAX };

    /// Exactly `value`.
    #[inline]
    pub const fn constant(value: u64) -> Self {
        Self { value, mask: 0 }
    }

    /// The smallest tnum that holds every value from `min` to `max`; unknown if the top bit
    /// differs.
    #[inline]
    pub const fn range(min: u64, max: u64) -> Self {
        let bits = 64 - (min ^ max).leading_zeros();
        if bits > 63 {
            return Self::UNKNOWN;
        }
        let delta = (1u64 << bits) - 1;
        Self { value: min & !delta, mask: delta }
    }

    /// Whether one value is left.
    #[inline]
    pub const fn is_const(self) -> bool {
        self.mask == 0
    }

    /// Whether nothing is known.
    #[inline]
    pub const fn is_unknown(self) -> bool {
        self.mask == u64::MAX
    }

    /// `self << shift`.
    #[inline]
    pub const fn lshift(self, shift: u32) -> Self {
        Self { value: self.value << shift, mask: self.mask << shift }
    }

    /// `self >> shift`, zeroes shifted in.
    #[inline]
    pub const fn rshift(self, shift: u32) -> Self {
        Self { value: self.value >> shift, mask: self.mask >> shift }
    }

    /// `self >> shift` of a value of 32 or 64 bits, the sign (known or not) shifted in.
    #[inline]
    pub const fn arshift(self, shift: u32, bits: u32) -> Self {
        let up = 64 - bits;
        Self {
            value: ((((self.value << up) as i64) >> up >> shift) as u64) & (u64::MAX >> up),
            mask: ((((self.mask << up) as i64) >> up >> shift) as u64) & (u64::MAX >> up),
        }
    }

    /// `self + other`.
    #[inline]
    #[allow(clippy::should_implement_trait)]
    pub const fn add(self, other: Self) -> Self {
        let sm = self.mask.wrapping_add(other.mask);
        let sv = self.value.wrapping_add(other.value);
        let sigma = sm.wrapping_add(sv);
        let mask = (sigma ^ sv) | self.mask | other.mask;
        Self { value: sv & !mask, mask }
    }

    /// `self - other`.
    #[inline]
    #[allow(clippy::should_implement_trait)]
    pub const fn sub(self, other: Self) -> Self {
        let dv = self.value.wrapping_sub(other.value);
        let alpha = dv.wrapping_add(self.mask);
        let beta = dv.wrapping_sub(other.mask);
        let mask = (alpha ^ beta) | self.mask | other.mask;
        Self { value: dv & !mask, mask }
    }

    /// `-self`.
    #[inline]
    #[allow(clippy::should_implement_trait)]
    pub const fn neg(self) -> Self {
        Self::constant(0).sub(self)
    }

    /// `self & other`.
    #[inline]
    pub const fn and(self, other: Self) -> Self {
        let value = self.value & other.value;
        let possible = (self.value | self.mask) & (other.value | other.mask);
        Self { value, mask: possible & !value }
    }

    /// `self | other`.
    #[inline]
    pub const fn or(self, other: Self) -> Self {
        let value = self.value | other.value;
        Self { value, mask: (self.mask | other.mask) & !value }
    }

    /// `self ^ other`.
    #[inline]
    pub const fn xor(self, other: Self) -> Self {
        let mask = self.mask | other.mask;
        Self { value: (self.value ^ other.value) & !mask, mask }
    }

    /// `self * other`: long multiplication that adds a shifted `other` for each bit of `self` that
    /// is 1, and joins both outcomes for each bit that is unknown.
    #[inline]
    #[allow(clippy::should_implement_trait)]
    pub const fn mul(self, other: Self) -> Self {
        let mut sum = Self::constant(0);
        let mut bits = self.value | self.mask;
        while bits != 0 {
            let bit = bits.trailing_zeros();
            bits &= bits - 1;
            let with = sum.add(other.lshift(bit));
            sum = if self.mask >> bit & 1 == 1 { sum.union(with) } else { with };
        }
        sum
    }

    /// `self * other` as kernels before 6.18 compute it: the method of Vishwanathan, Shachnai,
    /// Narayana and Nagarakatte ("Sound, Precise, and Fast Abstract Interpretation with Tristate
    /// Numbers", CGO 2022), and the one before it, which that paper compares with.
    pub(crate) fn mul_by(self, how: Products, other: Self) -> Self {
        match how {
            Products::Joined => self.mul(other),
            Products::Sums => self.mul_by_sums(other),
            Products::Halves => self.mul_by_halves(other),
        }
    }

    /// The product as Linux 5.14 to 6.17 compute it.
    pub fn mul_by_sums(self, other: Self) -> Self {
        let unknown = |mask: u64| Self { value: 0, mask };
        let mut added = Self::constant(0);
        let mut bits = self.value | self.mask;
        while bits != 0 {
            let bit = bits.trailing_zeros();
            bits &= bits - 1;
            let may_add = match self.value >> bit & 1 {
                1 => other.mask,
                _ => other.value | other.mask,
            };
            added = added.add(unknown(may_add << bit));
        }
        Self::constant(self.value.wrapping_mul(other.value)).add(added)
    }

    /// The product as kernels before 5.14 compute it.
    pub fn mul_by_halves(self, other: Self) -> Self {
        let mut sum = Self::constant(self.value.wrapping_mul(other.value));
        let halves = [(self.mask, other.mask | other.value), (other.mask, self.value)];
        for (unknown, mut bits) in halves {
            while bits != 0 {
                let bit = bits.trailing_zeros();
                bits &= bits - 1;
                sum = sum.add(Self { value: 0, mask: unknown << bit });
            }
        }
        sum
    }

    /// The intersection; meaningless where a known bit of one contradicts the other
    /// ([`Self::overlap`]).
    #[inline]
    pub const fn intersect(self, other: Self) -> Self {
        let mask = self.mask & other.mask;
        Self { value: (self.value | other.value) & !mask, mask }
    }

    /// The smallest tnum that holds the values of both.
    #[inline]
    pub const fn union(self, other: Self) -> Self {
        let mask = self.mask | other.mask | (self.value ^ other.value);
        Self { value: self.value & !mask, mask }
    }

    /// Whether the intersection is not empty.
    #[inline]
    pub const fn overlap(self, other: Self) -> bool {
        (self.value ^ other.value) & !self.mask & !other.mask == 0
    }

    /// The low `size` bytes, zero-extended (`size` 1 to 8).
    #[inline]
    pub const fn cast(self, size: u32) -> Self {
        let keep = u64::MAX >> (64 - size * 8);
        Self { value: self.value & keep, mask: self.mask & keep }
    }

    /// Whether every value is a multiple of `size`, a power of two (0 counts as 1).
    #[inline]
    pub const fn is_aligned(self, size: u64) -> bool {
        size == 0 || (self.value | self.mask) & (size - 1) == 0
    }

    /// Whether every value of `inner` is in `self`. Kernel: `tnum_in(self, inner)`.
    #[inline]
    pub const fn contains(self, inner: Self) -> bool {
        inner.mask & !self.mask == 0 && self.value == inner.value & !self.mask
    }

    /// The smallest value of the set that is greater than `z`; the largest of all if there is none.
    #[inline]
    pub const fn step(self, z: u64) -> u64 {
        let (least, greatest) = (self.value, self.value | self.mask);
        if z >= greatest {
            return greatest;
        }
        if z < least {
            return least;
        }
        let differs = (z ^ self.value) & !self.mask;
        if differs == 0 {
            return self.successor(z, 0);
        }
        // Below the highest known bit in which `z` differs, all bits start from their minimum.
        let top = 63 - differs.leading_zeros();
        let below = (1u64 << top) - 1;
        if self.value >> top & 1 == 1 {
            self.value | (z & self.mask & !below)
        } else {
            self.successor(z, below)
        }
    }

    /// Increments the unknown bits outside `below` of `z` by one; known bits pass the carry on.
    #[inline]
    const fn successor(self, z: u64, below: u64) -> u64 {
        let next = ((z | !self.mask | below).wrapping_add(1)) & self.mask;
        next | self.value
    }

    /// Whether `z` is in the set.
    #[inline]
    pub const fn has(self, z: u64) -> bool {
        z & !self.mask == self.value
    }

    /// Only the bits of `keep`, the others zero.
    #[inline]
    pub(crate) const fn truncate(self, keep: u64) -> Self {
        Self { value: self.value & keep, mask: self.mask & keep }
    }

    /// The low half, zero-extended.
    #[inline]
    pub const fn subreg(self) -> Self {
        self.cast(4)
    }

    /// The upper half, with the low half zero.
    #[inline]
    pub const fn clear_subreg(self) -> Self {
        self.rshift(32).lshift(32)
    }

    /// The upper half of `self` with the low half of `subreg`.
    #[inline]
    pub const fn with_subreg(self, subreg: Self) -> Self {
        self.clear_subreg().or(subreg.subreg())
    }

    /// The upper half of `self` with the low half equal to `value`.
    #[inline]
    pub const fn const_subreg(self, value: u32) -> Self {
        self.with_subreg(Self::constant(value as u64))
    }
}

/// `(value; mask)`, or the value if it is known, as the kernel prints it. Kernel: `tnum_strn`.
impl fmt::Display for Tnum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.mask, u16::try_from(self.value)) {
            (0, Ok(small)) => small.fmt(f),
            (0, Err(_)) => write!(f, "{:#x}", self.value),
            _ => write!(f, "({:#x}; {:#x})", self.value, self.mask),
        }
    }
}
