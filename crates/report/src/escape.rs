//! Names come from untrusted files, so control characters are escaped before they reach a terminal.

use std::borrow::Cow;

/// `text` with each control character escaped as `\u{..}`; not copied when there is none.
///
/// ```
/// assert_eq!(skep_report::printable("xdp_pass"), "xdp_pass");
/// assert_eq!(skep_report::printable("a\x1b[2Jb"), "a\\u{1b}[2Jb");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(char::is_control) {
        return Cow::Borrowed(text);
    }
    let escape = |c: char| match c.is_control() {
        true => c.escape_unicode().to_string(),
        false => c.to_string(),
    };
    Cow::Owned(text.chars().map(escape).collect())
}
