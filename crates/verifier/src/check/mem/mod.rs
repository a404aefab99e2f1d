//! Loads and stores.

use crate::env::Env;
use crate::rejection::{Check, unsupported};

/// Loads and stores.
pub(crate) fn check_load(env: &mut Env<'_>) -> Check {
    let _ = env;
    unsupported("loads")
}

/// `*(size *)(dst + off) = src`.
pub(crate) fn check_store_reg(env: &mut Env<'_>) -> Check {
    let _ = env;
    unsupported("stores")
}

/// `*(size *)(dst + off) = imm`.
pub(crate) fn check_store_imm(env: &mut Env<'_>) -> Check {
    let _ = env;
    unsupported("stores")
}

/// Whether `size` bytes at `off` of the map value in R`regno` are inside of it.
pub(crate) fn check_map_access(env: &mut Env<'_>, regno: u8, off: i32, size: u32) -> Check {
    let _ = (env, regno, off, size);
    unsupported("map access")
}
