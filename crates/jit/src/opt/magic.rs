//! Unsigned division by a constant as multiplication.
//!
//! Source: T. Granlund, P. Montgomery, "Division by Invariant Integers using Multiplication", PLDI
//! 1994; H. Warren, "Hacker's Delight", chapter 10. Tests: all 8-bit divisors with all dividends;
//! random ones of 32 and 64 bits.

/// How to divide an `N`-bit number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// `x >> by`.
    Shift(u32),
    /// `mulhi(x, by) >> shift`.
    Multiply { by: u64, shift: u32 },
    /// `t = mulhi(x, by); (((x - t) >> 1) + t) >> shift`: the multiplier has one bit more than
    /// `by`.
    MultiplyAdd { by: u64, shift: u32 },
}

/// The plan for `bits` (8, 32 or 64) and a divisor that is not 0.
pub(crate) fn plan(bits: u32, divisor: u64) -> Plan {
    if divisor.is_power_of_two() {
        return Plan::Shift(divisor.trailing_zeros());
    }
    // The least multiplier that is correct for all dividends is ceil(2^(bits + log) / divisor),
    // with `log` the divisor's rounded up; a smaller one may suffice.
    let log = 64 - (divisor - 1).leading_zeros();
    let divisor = u128::from(divisor);
    let power = 1u128 << (bits + log - 1) << 1;
    let (mut low, mut high) = match bits + log {
        // 2^128 does not fit the type.
        128 => (big_power_over(divisor, 0), big_power_over(divisor, 1 << log)),
        _ => (power / divisor, (power + (1u128 << log)) / divisor),
    };
    let mut shift = log;
    while low / 2 < high / 2 && shift > 0 {
        (low, high) = (low / 2, high / 2);
        shift -= 1;
    }
    match high >> bits {
        0 => Plan::Multiply { by: high as u64, shift },
        _ => {
            let by = high - (1u128 << bits);
            Plan::MultiplyAdd { by: by as u64, shift: shift - 1 }
        }
    }
}

/// `(2^128 + plus) / divisor`.
fn big_power_over(divisor: u128, plus: u128) -> u128 {
    // 2^128 = (2^128 - 1) + 1.
    let (quotient, rest) = (u128::MAX / divisor, u128::MAX % divisor);
    quotient + (rest + 1 + plus) / divisor
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divide(bits: u32, x: u64, plan: Plan) -> u64 {
        let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        let mulhi = |by: u64| ((u128::from(x) * u128::from(by)) >> bits) as u64;
        match plan {
            Plan::Shift(by) => x >> by,
            Plan::Multiply { by, shift } => mulhi(by) >> shift,
            Plan::MultiplyAdd { by, shift } => {
                let t = mulhi(by);
                ((((x - t) >> 1) + t) & mask) >> shift
            }
        }
    }

    #[test]
    fn all_divisions_of_8_bits() {
        for by in 1..256u64 {
            let plan = plan(8, by);
            for x in 0..256 {
                assert_eq!(divide(8, x, plan), x / by, "{x} / {by}: {plan:?}");
            }
        }
    }

    #[test]
    fn divisions_of_32_and_64_bits_at_edges() {
        let mut state = 88_172_645_463_325_252u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for _ in 0..50_000 {
            for bits in [32, 64] {
                let mask = u64::MAX >> (64 - bits);
                let by = ((random() & mask) >> (random() % u64::from(bits))).max(1);
                let plan = plan(bits, by);
                let near = (random() & mask) / by * by;
                let edges = [0, 1, by - 1, by, mask, mask - 1, near, near.wrapping_sub(1) & mask];
                for x in edges.into_iter().chain([random() & mask]) {
                    assert_eq!(divide(bits, x, plan), x / by, "{x} / {by}: {plan:?}");
                }
            }
        }
    }
}
