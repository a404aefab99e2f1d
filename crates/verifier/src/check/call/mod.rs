//! Calls of helpers, kfuncs, subprogs.

use crate::env::Env;
use crate::rejection::{Check, unsupported};

/// Calls of helpers, kfuncs, subprogs.
pub(crate) fn check_call(env: &mut Env<'_>) -> Check<crate::explore::walk::Next> {
    let _ = env;
    unsupported("calls")
}
