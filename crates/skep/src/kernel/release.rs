//! Releases (`uname -r`). Files and users state them, and they are printed: only what cannot be
//! mistaken for anything else is one.

use skep_uapi::since::Release;

/// The size of `uname -r`.
const BYTES_MAX: usize = 64;

/// The version in a release.
///
/// # Errors
///
/// Why it is not one, without the text.
pub(super) fn parse(release: &str) -> Result<Release, &'static str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._+~-".contains(&byte);
    if release.len() > BYTES_MAX || !release.bytes().all(is_plain) {
        return Err("a release has at most 64 letters, digits and characters of '._+~-'");
    }
    release.parse().map_err(|_| "a release begins with two numbers, such as 6.12")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_plain_text() {
        let fedora = "6.16.12-200.fc42.x86_64";
        for release in ["6.1", "6.12.117+deb12-cloud-amd64", "5.14.0-503.el9", "6.1~rc1", fedora] {
            assert!(parse(release).is_ok(), "{release}");
        }
        let long = format!("6.1-{}", "x".repeat(61));
        for release in ["6.1\nconfig: 3", "6.1\u{1b}[31m", "6.1 x", "6.1-ä", "6.1/x", &long] {
            assert!(parse(release).is_err_and(|why| why.contains("letters")), "{release:?}");
        }
        for release in ["", "6", "v6.1", "six.1"] {
            assert!(parse(release).is_err_and(|why| why.contains("two numbers")), "{release}");
        }
    }
}
