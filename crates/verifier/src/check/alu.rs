//! ALU insns.

use crate::env::Env;
use crate::rejection::{Check, unsupported};

/// ALU insns.
pub(crate) fn check_alu_op(env: &mut Env<'_>) -> Check {
    let _ = env;
    unsupported("ALU")
}
