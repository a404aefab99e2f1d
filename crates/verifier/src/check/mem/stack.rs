//! The stack: whether an access is within bounds, and how much stack is used.
//!
//! Kernel: `check_stack_access_within_bounds`, `grow_stack_state`, `check_stack_read`,
//! `check_stack_write` (6.18).

use super::region::Span;
use super::{stack_read, stack_write};
use crate::check::mem::access::{AccessType, MemAccess};
use crate::check::mem::stack_bounds::check_stack_access_within_bounds;
use crate::env::Env;
use crate::rejection::{Check, MemFault, reject};
use crate::state::reg::Reg;

/// A load or store through a stack pointer.
pub(super) fn access_stack(env: &mut Env<'_>, reg: &Reg, at: MemAccess, off: i32) -> Check {
    check_stack_access_within_bounds(env, Span::of(at, off), at.ty)?;
    let at = MemAccess { off, ..at };
    let var = reg.val.var_off;
    if var.is_const() {
        let at = MemAccess { off: off.wrapping_add(var.value as i32), ..at };
        return match at.ty {
            AccessType::Read => stack_read::read_fixed_off(env, reg.frameno(), at),
            AccessType::Write => stack_write::write_fixed_off(env, reg.frameno(), at),
        };
    }
    match at.ty {
        AccessType::Write => stack_write::write_var_off(env, reg, at),
        AccessType::Read if at.value_regno.is_none() => {
            let (off, size) = (at.off, at.size);
            reject!(EACCES, MemFault::VariableStackForHelper { var, off, size })
        }
        AccessType::Read => stack_read::read_var_off(env, reg, at),
    }
}
