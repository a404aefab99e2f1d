//! Why a verification ended without a `VerifiedProgram`.

use std::fmt;

/// The program is refused: a result, not an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Insn at fault; `None` if the program is refused as a whole.
    pub insn_idx: Option<u32>,
    /// Call frame in which it was walked, 0 for the entry.
    pub frameno: u32,
    /// `errno` that `BPF_PROG_LOAD` would return, positive.
    pub errno: i32,
    /// What the kernel's log says, without the state of registers; may have several lines.
    pub message: String,
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
    pub(crate) const EACCES: i32 = 13;
    pub(crate) const EFAULT: i32 = 14;
    pub(crate) const EBUSY: i32 = 16;
    pub(crate) const EINVAL: i32 = 22;
    pub(crate) const ERANGE: i32 = 34;
    pub(crate) const EPROTO: i32 = 71;
    pub(crate) const ENOTSUPP: i32 = 524;
    pub(crate) const EOPNOTSUPP: i32 = 95;
}
