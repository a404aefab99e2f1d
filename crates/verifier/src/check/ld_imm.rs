//! Loads of 64-bit immediates.

use crate::env::Env;
use crate::rejection::{Check, unsupported};

/// Loads of 64-bit immediates.
pub(crate) fn check_ld_imm(env: &mut Env<'_>) -> Check {
    let _ = env;
    unsupported("ld_imm64")
}
