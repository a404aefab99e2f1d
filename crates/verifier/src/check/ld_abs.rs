//! Legacy packet loads.

use crate::env::Env;
use crate::rejection::{Check, unsupported};

/// Legacy packet loads.
pub(crate) fn check_ld_abs(env: &mut Env<'_>) -> Check {
    let _ = env;
    unsupported("LD_ABS")
}
