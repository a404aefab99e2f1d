//! Output of numbers and bytes: hex digits, and numbers omitted from JSON.

/// Two digits per byte, as accepted by `--hex`.
#[cfg(all(feature = "run", target_os = "linux"))]
pub(crate) fn hex<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> String {
    use std::fmt::Write as _;
    bytes.into_iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

/// For `skip_serializing_if`.
pub(crate) fn is_zero<N: Copy + Into<u64>>(number: &N) -> bool {
    (*number).into() == 0
}
