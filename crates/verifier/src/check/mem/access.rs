//! A memory access, and the checks common to all of them.

use crate::env::{Env, Walk};
use crate::rejection::{Check, MemFault, Regno, Word, reject};
use crate::state::arena::PackedReg;
use crate::state::reg_type::RegType;

/// One access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemAccess {
    /// The register that holds the pointer.
    pub(crate) regno: u8,
    /// Offset in bytes, without the pointer's own fixed offset.
    pub(crate) off: i32,
    /// Bytes.
    pub(crate) size: i32,
    pub(crate) ty: AccessType,
    /// Register that is loaded or stored; `None` for an immediate or if there is none.
    pub(crate) value_regno: Option<u8>,
    /// Requires alignment regardless of the program's flags (atomics).
    pub(crate) strict_alignment_once: bool,
    /// Loads sign-extend.
    pub(crate) is_ldsx: bool,
}

impl MemAccess {
    pub(crate) fn is_write(&self) -> bool {
        self.ty == AccessType::Write
    }
}

/// Direction of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessType {
    Read,
    Write,
}

/// Refuses to store a pointer where the program could read it back as a number.
#[inline]
pub(crate) fn check_no_leak(env: &Env<'_>, at: MemAccess, into: Word) -> Check {
    if at.is_write()
        && let Some(value) = at.value_regno
        && env.is_pointer_value(value)
    {
        reject!(EACCES, MemFault::LeaksAddr { value: Regno(value), into });
    }
    Ok(())
}

/// Makes the destination of a load, if there is one, unknown.
#[inline]
pub(crate) fn mark_loaded_unknown(walk: &mut Walk, at: MemAccess) {
    if at.ty == AccessType::Read
        && let Some(value) = at.value_regno
    {
        walk.set_name(value, PackedReg::UNKNOWN);
    }
}

/// What a load from the context yields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CtxLoad {
    pub(super) ty: RegType,
    /// For pointers to kernel types.
    pub(super) btf_id: u32,
    pub(super) ref_obj_id: u32,
    /// Whether it is the return value of the function that the program is attached to.
    pub(super) is_retval: bool,
}
