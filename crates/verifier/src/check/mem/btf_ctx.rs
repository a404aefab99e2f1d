//! Contexts that are the arguments of a function of the kernel, 8 bytes each.
//!
//! Kernel: `btf_ctx_access` (6.18).

use super::MemAccess;
use super::ctx::CtxLoad;
use crate::env::Env;
use crate::rejection::{Check, unsupported};

/// What argument is at `off`; `None` if it cannot be loaded so.
pub(super) fn find_btf_access(
    env: &mut Env<'_>,
    at: MemAccess,
    off: i32,
) -> Check<Option<CtxLoad>> {
    let _ = (env, at, off);
    unsupported("contexts described by BTF")
}
