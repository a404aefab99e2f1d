//! What kernels deduce about a scalar: not all of them the same.

/// How the known bits of a product are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Products {
    /// For each unknown bit of the left operand, both outcomes are joined.
    Joined,
    /// The product of the known bits, plus what unknown bits may add: those of the right operand
    /// for each bit of the left one.
    Sums,
    /// The same, first for the unknown bits of the left operand, then for those of the right one.
    Halves,
}

/// What a kernel deduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deduction {
    /// A signed 64-bit range that crosses zero is narrowed by an unsigned range that misses one
    /// side.
    pub wide_across_signs: bool,
    /// The same for the low half.
    pub half_across_signs: bool,
    /// A register is constant if the bits and bounds together leave one value.
    pub single_values: bool,
    /// Sums and differences keep their bounds where both ends overflow.
    pub both_overflow: bool,
    /// Products of possibly negative operands have bounds.
    pub signed_products: bool,
    /// Known bits of products.
    pub products: Products,
    /// The bounds of a low half that is not negative are those of a whole that is a sign-extended
    /// half.
    pub signed_halves: bool,
    /// The bounds of the low half replace those of a whole that is a sign-extended half, even if
    /// the latter were narrower; otherwise only the unsigned ones.
    pub halves_replace: bool,
    /// A scalar and its low half narrow each other; otherwise only where one is made from the
    /// other.
    pub halves_and_wholes: bool,
    /// The bits that the bounds of the whole leave unknown are unknown in the half, not more.
    pub bits_reach_halves: bool,
    /// A number keeps its bounds after a test that found none of its bits.
    pub tested_keep_bounds: bool,
}

impl Deduction {
    /// All that Linux 6.18.44 deduces.
    pub const REFERENCE: Deduction = Deduction {
        wide_across_signs: true,
        half_across_signs: true,
        single_values: true,
        both_overflow: true,
        signed_products: true,
        products: Products::Joined,
        signed_halves: true,
        halves_replace: true,
        halves_and_wholes: true,
        bits_reach_halves: true,
        tested_keep_bounds: false,
    };
}
