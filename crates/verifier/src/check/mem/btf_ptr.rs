//! Loads through pointers to types of the kernel's BTF.
//!
//! Kernel: `check_ptr_to_btf_access`, `check_ptr_to_map_access` (6.18).

use super::MemAccess;
use crate::env::Env;
use crate::rejection::{Check, unsupported};
use crate::state::reg::Reg;

pub(super) fn access_btf_ptr(env: &mut Env<'_>, reg: &Reg, at: MemAccess, off: i32) -> Check {
    let _ = (env, reg, at, off);
    unsupported("loads through BTF pointers")
}

pub(super) fn access_map_ptr(env: &mut Env<'_>, reg: &Reg, at: MemAccess, off: i32) -> Check {
    let _ = (env, reg, at, off);
    unsupported("loads through map pointers")
}
