//! Atomic insns.

use crate::env::Env;
use crate::rejection::{Check, unsupported};

/// Atomic insns.
pub(crate) fn check_atomic(env: &mut Env<'_>) -> Check {
    let _ = env;
    unsupported("atomics")
}
