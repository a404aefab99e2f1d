//! Names come from untrusted files, so control characters, and those that change the text
//! direction, are escaped before they reach a terminal.

use std::borrow::Cow;

/// `1 packet`, `2 packets`.
pub fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// `text` with each control or unseen character escaped as `\u{..}`; not copied when there is none.
///
/// ```
/// assert_eq!(skep_report::printable("xdp_pass"), "xdp_pass");
/// assert_eq!(skep_report::printable("a\x1b[2Jb"), "a\\u{1b}[2Jb");
/// assert_eq!(skep_report::printable("a\u{202e}b"), "a\\u{202e}b");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_hidden = |c: char| c.is_control() || is_unseen(c);
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let escape = |c: char| match is_hidden(c) {
        true => c.escape_unicode().to_string(),
        false => c.to_string(),
    };
    Cow::Owned(text.chars().map(escape).collect())
}

/// Characters that change the text direction, or are invisible.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}
