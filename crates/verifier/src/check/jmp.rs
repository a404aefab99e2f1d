//! Jumps.

use crate::env::Env;
use crate::rejection::{Check, unsupported};

/// Jumps.
pub(crate) fn check_ja(env: &mut Env<'_>) -> Check<crate::explore::walk::Next> {
    let _ = env;
    unsupported("jumps")
}

/// Conditional jumps.
pub(crate) fn check_cond_jmp(env: &mut Env<'_>) -> Check<crate::explore::walk::Next> {
    let _ = env;
    unsupported("conditional jumps")
}
