//! The abstract value of a register that holds a number (or the variable part of a pointer).
//!
//! Kernel: `reg_bounds_sync`, `reg_bounds_sanity_check`, `coerce_reg_to_size` and related functions
//! (6.18).

use crate::Tnum;
use crate::bounds::Bounds;

/// Five kinds of bounds at once; a concrete value satisfies all of them.
///
/// `W` and `H` are the bits of the whole and of its low half. Registers are [`Scalar`], 64 and 32;
/// smaller widths exist so that tests can enumerate every value with the same code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScalarAt<const W: u32, const H: u32> {
    /// Known bits.
    pub var_off: Tnum,
    /// Least value, signed 64-bit.
    pub smin: i64,
    /// Greatest value, signed 64-bit.
    pub smax: i64,
    /// Least value, unsigned 64-bit.
    pub umin: u64,
    /// Greatest value, unsigned 64-bit.
    pub umax: u64,
    /// Least value of the low half, signed.
    pub s32_min: i32,
    /// Greatest value of the low half, signed.
    pub s32_max: i32,
    /// Least value of the low half, unsigned.
    pub u32_min: u32,
    /// Greatest value of the low half, unsigned.
    pub u32_max: u32,
    /// What the bounds cannot represent, on kernels whose ranges wrap.
    pub wrapped: Wrapped,
}

/// The ranges of a scalar that its bounds do not represent: they cross both the sign boundary and
/// the unsigned one, and exclude some numbers between them. All zeros if there is none, as on
/// kernels whose ranges do not wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wrapped {
    pub(crate) wide_base: u64,
    pub(crate) wide_size: u64,
    pub(crate) half_base: u32,
    pub(crate) half_size: u32,
}

impl Wrapped {
    /// Bounds say all.
    pub const NONE: Wrapped = Wrapped { wide_base: 0, wide_size: 0, half_base: 0, half_size: 0 };

    /// Everything that distinguishes two of them.
    pub fn words(&self) -> [u64; 3] {
        let half = u64::from(self.half_base) << 32 | u64::from(self.half_size);
        [self.wide_base, self.wide_size, half]
    }

    #[inline]
    pub(crate) fn forget_wide(&mut self) {
        self.wide_base = 0;
        self.wide_size = 0;
    }

    #[inline]
    pub(crate) fn forget_half(&mut self) {
        self.half_base = 0;
        self.half_size = 0;
    }
}

/// What is known about a 64-bit register.
pub type Scalar = ScalarAt<64, 32>;

impl<const W: u32, const H: u32> ScalarAt<W, H> {
    /// Any value.
    #[inline]
    pub const fn unknown() -> Self {
        Self {
            var_off: Tnum { value: 0, mask: u64::MAX >> (64 - W) },
            smin: i64::MIN >> (64 - W),
            smax: i64::MAX >> (64 - W),
            umin: 0,
            umax: u64::MAX >> (64 - W),
            s32_min: i32::MIN >> (32 - H),
            s32_max: i32::MAX >> (32 - H),
            u32_min: 0,
            u32_max: u32::MAX >> (32 - H),
            wrapped: Wrapped::NONE,
        }
    }

    /// Exactly `value` (only the low `W` bits are used).
    #[inline]
    pub const fn constant(value: u64) -> Self {
        let value = value & (u64::MAX >> (64 - W));
        let signed = ((value << (64 - W)) as i64) >> (64 - W);
        let half = (value as u32) & (u32::MAX >> (32 - H));
        let half_signed = ((half << (32 - H)) as i32) >> (32 - H);
        Self {
            var_off: Tnum { value, mask: 0 },
            smin: signed,
            smax: signed,
            umin: value,
            umax: value,
            s32_min: half_signed,
            s32_max: half_signed,
            u32_min: half,
            u32_max: half,
            wrapped: Wrapped::NONE,
        }
    }

    /// Whether exactly one value is possible (by the known bits, as in the kernel).
    #[inline]
    pub const fn is_const(&self) -> bool {
        self.var_off.mask == 0
    }

    /// Whether the low half has exactly one possible value (by the known bits).
    #[inline]
    pub const fn is_subreg_const(&self) -> bool {
        self.var_off.mask & (u64::MAX >> (64 - H)) == 0
    }

    /// Whether a register may hold `value` (only the low `W` bits are used).
    pub const fn contains(&self, value: u64) -> bool {
        let v = Self::constant(value);
        self.var_off.has(v.var_off.value)
            && self.smin <= v.smin
            && v.smin <= self.smax
            && self.umin <= v.umin
            && v.umin <= self.umax
            && self.s32_min <= v.s32_min
            && v.s32_min <= self.s32_max
            && self.u32_min <= v.u32_min
            && v.u32_min <= self.u32_max
    }

    /// The value, if only one is possible.
    #[inline]
    pub const fn const_value(&self) -> Option<u64> {
        if self.is_const() { Some(self.var_off.value) } else { None }
    }

    /// The value, if the known bits and every bound agree that it is the only one. Nothing more can
    /// be deduced then.
    #[inline]
    pub fn exact_value(&self) -> Option<u64> {
        let value = self.var_off.value;
        (self.is_const() && *self == Self::constant(value)).then_some(value)
    }

    /// Sets the low half to `value`; the bounds of the whole are unchanged. Kernel:
    /// `__mark_reg32_known`.
    #[inline]
    pub fn mark_known32(&mut self, value: u32) {
        let low = Bounds::<H>::UMAX;
        self.var_off =
            self.var_off.truncate(!low).or(Tnum::constant(Bounds::<H>::to_u(u64::from(value))));
        self.set_half(Bounds::constant(u64::from(value)));
        self.wrapped.forget_half();
    }

    /// Drops the bounds of the whole (not of the half, nor the known bits). Kernel:
    /// `__mark_reg64_unbounded`.
    #[inline]
    pub fn mark_unbounded64(&mut self) {
        let unknown = Self::unknown();
        (self.smin, self.smax) = (unknown.smin, unknown.smax);
        (self.umin, self.umax) = (unknown.umin, unknown.umax);
        self.wrapped.forget_wide();
    }

    /// Drops the bounds of the low half. Kernel: `__mark_reg32_unbounded`.
    #[inline]
    pub fn mark_unbounded32(&mut self) {
        let unknown = Self::unknown();
        (self.s32_min, self.s32_max) = (unknown.s32_min, unknown.s32_max);
        (self.u32_min, self.u32_max) = (unknown.u32_min, unknown.u32_max);
        self.wrapped.forget_half();
    }

    /// Drops all bounds but not the known bits. Kernel: `__mark_reg_unbounded`.
    #[inline]
    pub fn mark_unbounded(&mut self) {
        self.mark_unbounded64();
        self.mark_unbounded32();
    }

    #[inline]
    pub(crate) fn wide(&self) -> Bounds<W> {
        Bounds { smin: self.smin, smax: self.smax, umin: self.umin, umax: self.umax }
    }

    #[inline]
    pub(crate) fn half(&self) -> Bounds<H> {
        Bounds {
            smin: i64::from(self.s32_min),
            smax: i64::from(self.s32_max),
            umin: u64::from(self.u32_min),
            umax: u64::from(self.u32_max),
        }
    }

    #[inline]
    pub(crate) fn set_wide(&mut self, b: Bounds<W>) {
        (self.smin, self.smax, self.umin, self.umax) = (b.smin, b.smax, b.umin, b.umax);
    }

    #[inline]
    pub(crate) fn set_half(&mut self, b: Bounds<H>) {
        (self.s32_min, self.s32_max) = (b.smin as i32, b.smax as i32);
        (self.u32_min, self.u32_max) = (b.umin as u32, b.umax as u32);
    }
}
