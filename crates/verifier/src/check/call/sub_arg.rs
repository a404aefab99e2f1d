//! The arguments that a function requires from its callers.

use crate::state::reg_type::TypeFlag as F;

/// What a function expects in an argument register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubArg {
    Scalar,
    Ctx,
    /// `flags`: may be NULL, read-only and untrusted.
    Mem {
        size: u32,
        flags: F,
    },
    Dynptr,
    Arena,
    /// A kernel object; `flags`: may be NULL, trusted, untrusted.
    Btf {
        id: u32,
        flags: F,
    },
}
