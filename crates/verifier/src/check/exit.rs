//! The exit insn.

use crate::env::Env;
use crate::rejection::{Check, unsupported};

/// The exit insn.
pub(crate) fn check_exit(env: &mut Env<'_>) -> Check<crate::explore::walk::Next> {
    let _ = env;
    unsupported("exit")
}
