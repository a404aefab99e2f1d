//! Numbers in the verifier's texts: of registers in its log, and of its messages.

/// A number by its name in a text such as `pkt(id=1,off=14,umax=60)`.
pub(super) fn field(told: &str, name: &str) -> Option<u64> {
    let (_, rest) = told.split_once(name)?;
    // `umax=smax32=umax32=60` is a list of names with the same value.
    let number = rest
        .split(|c: char| c == ',' || c.is_whitespace())
        .next()?
        .rsplit('=')
        .next()?
        .trim_end_matches(')');
    match number.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => number.parse().ok(),
    }
}
