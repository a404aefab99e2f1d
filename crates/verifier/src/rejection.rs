//! Why a verification ended without a `VerifiedProgram`.

use std::fmt;

/// The program is refused: a result, not an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Offending insn; `None` if the program is refused as a whole.
    pub insn_idx: Option<u32>,
    /// Its call frame; 0 is the entry function.
    pub frameno: u32,
    /// `errno` that `BPF_PROG_LOAD` would return, positive.
    pub errno: i32,
    /// The kernel's message, without register state; may have several lines.
    pub message: String,
}

/// Words of a kind: enough to tell the texts apart.
const KIND_WORDS_MAX: usize = 7;

impl Rejection {
    /// Stable name of the kind of fault, such as `invalid_mem_access`.
    ///
    /// Derived from the plain words of the message's last line, without registers, numbers or
    /// names.
    pub fn kind(&self) -> String {
        let line = self.message.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("");
        let is_word = |w: &&str| {
            w.len() > 1 && w.chars().all(|c| c.is_ascii_alphabetic() || "_-,.;:!".contains(c))
        };
        let words: Vec<String> = line
            .split_ascii_whitespace()
            .filter(is_word)
            .map(|w| w.trim_matches(|c: char| !c.is_ascii_alphabetic()).to_ascii_lowercase())
            .filter(|w| !w.is_empty())
            .take(KIND_WORDS_MAX)
            .collect();
        if words.is_empty() { "refused".to_string() } else { words.join("_").replace('-', "_") }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Why the walk stops.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// Refused, with the kernel's `errno`; the message is already in the log.
    Reject { errno: i32, message: String },
    /// The program needs a rule that is not modelled.
    Unsupported(String),
    /// The walk holds more than it may.
    OutOfMemory,
    /// Our fault.
    Bug(String),
}

/// Result of everything that may end the walk.
pub(crate) type Check<T = ()> = Result<T, Stop>;

/// `not supported yet: what`.
pub(crate) fn unsupported<T>(what: impl Into<String>) -> Check<T> {
    Err(Stop::Unsupported(what.into()))
}

#[allow(missing_docs)]
pub(crate) mod errno {
    pub(crate) const EPERM: i32 = 1;
    pub(crate) const ENOENT: i32 = 2;
    pub(crate) const E2BIG: i32 = 7;
    pub(crate) const ENOMEM: i32 = 12;
    pub(crate) const EACCES: i32 = 13;
    pub(crate) const EBADF: i32 = 9;
    pub(crate) const EFAULT: i32 = 14;
    pub(crate) const EBUSY: i32 = 16;
    pub(crate) const EINVAL: i32 = 22;
    pub(crate) const ERANGE: i32 = 34;
    pub(crate) const EPROTO: i32 = 71;
    pub(crate) const ENOTSUPP: i32 = 524;
    pub(crate) const EOPNOTSUPP: i32 = 95;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_leave_out_what_differs_by_program() {
        let kind = |message: &str| {
            Rejection { insn_idx: None, frameno: 0, errno: 13, message: message.into() }.kind()
        };
        assert_eq!(kind("R3 invalid mem access 'scalar'"), "invalid_mem_access");
        assert_eq!(
            kind("invalid access to map value, value_size=8 off=8 size=8\nR1 min value is outside"),
            "min_value_is_outside"
        );
        assert_eq!(kind(""), "refused");
    }
}
