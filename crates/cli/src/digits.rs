//! Numbers and bytes on their way out: hex digits, and numbers that JSON leaves out.

/// Two digits a byte, as `--hex` reads them.
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
