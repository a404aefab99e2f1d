//! Changes of width: truncation, zero extension, sign extension.
//!
//! Kernel: `coerce_reg_to_size`, `coerce_reg_to_size_sx`, `coerce_subreg_to_size_sx`,
//! `zext_32_to_64`, `__reg_assign_32_into_64` (6.18).

use crate::bounds::Bounds;
use crate::{ScalarAt, Tnum};

impl<const W: u32, const H: u32> ScalarAt<W, H> {
    /// Truncates to the low `size` bytes (1, 2, 4), zero-extended, and syncs. Kernel:
    /// `coerce_reg_to_size`.
    #[inline]
    pub fn coerce_to_size(&mut self, size: u32) {
        self.truncate_to_bits(size * 8);
    }

    /// Sign-extends the low `size` bytes (1, 2, 4) to the whole: `r = (s8)r`. Kernel:
    /// `coerce_reg_to_size_sx`.
    #[inline]
    pub fn coerce_to_size_sx(&mut self, size: u32) {
        self.sign_extend_bits(size * 8);
    }

    /// Sign-extends the low `size` bytes (1, 2) to the low half: `w = (s8)w`, before
    /// [`Self::zext_32_to_64`] and [`Self::sync`]. Kernel: `coerce_subreg_to_size_sx`.
    #[inline]
    pub fn coerce_subreg_to_size_sx(&mut self, size: u32) {
        self.sign_extend_bits_in_half(size * 8);
    }

    /// [`Self::coerce_to_size`] in bits, from 1 to the width of the half.
    pub fn truncate_to_bits(&mut self, bits: u32) {
        self.truncate_bare(bits);
        self.sync();
    }

    /// The same without [`Self::sync`].
    #[inline]
    pub(crate) fn truncate_bare(&mut self, bits: u32) {
        let keep = low_bits(bits);
        self.var_off = self.var_off.truncate(keep);
        let (mut umin, mut umax) = (0, keep);
        if self.umin & !keep == self.umax & !keep {
            (umin, umax) = (self.umin & keep, self.umax & keep);
        }
        self.set_wide(Bounds { smin: umin as i64, smax: umax as i64, umin, umax });
        if bits < H {
            self.mark_unbounded32();
        }
    }

    /// [`Self::coerce_to_size_sx`] in bits, from 1 to the width of the half.
    pub fn sign_extend_bits(&mut self, bits: u32) {
        if self.is_const() {
            *self = Self::constant(sign_extend(self.var_off.value, bits) as u64);
            return;
        }
        match sign_extend_range(self.smin, self.smax, bits) {
            Some((min, max)) => {
                self.set_wide(Bounds {
                    smin: min,
                    smax: max,
                    umin: Bounds::<W>::to_u(min as u64),
                    umax: Bounds::<W>::to_u(max as u64),
                });
                self.set_half(half_of(min, max));
                self.var_off = Tnum::range(self.umin, self.umax);
            }
            None => {
                *self = Self::unknown();
                let (min, max) = (-1i64 << (bits - 1), low_bits(bits - 1) as i64);
                (self.smin, self.smax) = (min, max);
                (self.s32_min, self.s32_max) = (min as i32, max as i32);
            }
        }
    }

    /// [`Self::coerce_subreg_to_size_sx`] in bits, from 1 to less than the width of the half.
    pub fn sign_extend_bits_in_half(&mut self, bits: u32) {
        let low = Bounds::<H>::UMAX;
        if self.is_const() {
            let value = sign_extend(self.var_off.value, bits) as u64;
            self.var_off = Tnum::constant(value & low);
            self.set_half(Bounds::constant(value));
            return;
        }
        match sign_extend_range(i64::from(self.s32_min), i64::from(self.s32_max), bits) {
            Some((min, max)) => {
                self.set_half(half_of(min, max));
                self.var_off = Tnum::range(u64::from(self.u32_min), u64::from(self.u32_max));
            }
            None => {
                self.mark_unbounded32();
                self.s32_min = -1i32 << (bits - 1);
                self.s32_max = low_bits(bits - 1) as i32;
                self.var_off = Tnum { value: 0, mask: low };
            }
        }
    }

    /// Sets the bounds of the whole from those of the half, the upper half being zero. Kernel:
    /// `__reg_assign_32_into_64`.
    #[inline]
    pub fn assign_32_into_64(&mut self) {
        (self.umin, self.umax) = (u64::from(self.u32_min), u64::from(self.u32_max));
        // A negative half is a large positive whole.
        if self.s32_min >= 0 && self.s32_max >= 0 {
            (self.smin, self.smax) = (i64::from(self.s32_min), i64::from(self.s32_max));
        } else {
            (self.smin, self.smax) = (0, Bounds::<H>::UMAX as i64);
        }
    }

    /// Zeroes the upper half; [`Self::sync`] is left to the caller. Kernel: `zext_32_to_64`.
    #[inline]
    pub fn zext_32_to_64(&mut self) {
        self.var_off = self.var_off.truncate(Bounds::<H>::UMAX);
        self.assign_32_into_64();
    }
}

fn half_of<const H: u32>(min: i64, max: i64) -> Bounds<H> {
    Bounds {
        smin: min,
        smax: max,
        umin: Bounds::<H>::to_u(min as u64),
        umax: Bounds::<H>::to_u(max as u64),
    }
}

fn low_bits(bits: u32) -> u64 {
    u64::MAX.checked_shr(64 - bits).unwrap_or(0)
}

fn sign_extend(value: u64, bits: u32) -> i64 {
    ((value << (64 - bits)) as i64) >> (64 - bits)
}

/// The range of the low `bits` of a signed range, if its upper bits do not change and the result
/// does not cross zero (its ends would be reversed).
fn sign_extend_range(min: i64, max: i64, bits: u32) -> Option<(i64, i64)> {
    let (low_min, low_max) = (sign_extend(min as u64, bits), sign_extend(max as u64, bits));
    (min >> bits == max >> bits && low_min <= low_max).then_some((low_min, low_max))
}
