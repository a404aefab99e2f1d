//! The abstract value of a register that holds a number (or the variable part of a pointer).

use crate::Tnum;

/// Bounds of a 64-bit value in five ways at once; a concrete value satisfies all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar {
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
}
