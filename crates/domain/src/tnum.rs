//! Tristate numbers: which bits of a value are known, and which values they have.

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
