//! Bounds of a stack access.

use super::region::Span;
use crate::check::mem::access::AccessType;
use crate::env::Env;
use crate::rejection::{Check, MemFault, Regno, Stop, reject};
use skep_insn::code::BPF_JMP;
use skep_uapi::errno;
use skep_uapi::limits::{BPF_MAX_VAR_OFF, MAX_BPF_STACK_BYTES};

/// Checks that the span is within the stack for every variable offset, and grows the frame to
/// include it.
pub(crate) fn check_stack_access_within_bounds(
    env: &mut Env<'_>,
    span: Span,
    ty: AccessType,
) -> Check {
    check_stack_bounds(env, span, ty, false)
}

/// The same for an access by a helper or an insn.
pub(crate) fn check_stack_bounds(
    env: &mut Env<'_>,
    span: Span,
    ty: AccessType,
    by_helper: bool,
) -> Check {
    let reg = env.reg(span.regno);
    let Span { regno, off, size, .. } = span;
    let what = if ty == AccessType::Read { "read from" } else { "write to" };
    let told = if by_helper { "indirect access to" } else { what };
    let var = reg.val.var_off;
    let (min_off, max_off) = if var.is_const() {
        let min = (var.value as i64).wrapping_add(i64::from(off));
        (min, min.wrapping_add(i64::from(size)))
    } else {
        if reg.val.smax >= BPF_MAX_VAR_OFF || reg.val.smin <= -BPF_MAX_VAR_OFF {
            reject!(EACCES, MemFault::UnboundedStack { what, regno: Regno(regno), told });
        }
        let (min, max) = (reg.val.smin, reg.val.smax);
        (min + i64::from(off), max + i64::from(off) + i64::from(size))
    };
    let frame = &env.walk.cur.frames[reg.frameno() as usize];
    let reads_unused = env.facts.rules().unused_stack_read;
    let may_be_new = || env.facts.allow_uninit_stack && (reads_unused || size == 0);
    // On kernels that do not allow reads of uninitialized stack, those of a helper are checked byte
    // by byte, after this.
    let is_left = || by_helper && !reads_unused && env.insn().class() == BPF_JMP;
    let lowest = if ty == AccessType::Write || may_be_new() || is_left() {
        -i64::from(MAX_BPF_STACK_BYTES)
    } else {
        -i64::from(frame.allocated_stack())
    };
    let errno = if min_off < lowest || min_off > -1 {
        errno::EACCES
    } else if max_off > 0 {
        errno::EINVAL
    } else if size < 0 {
        errno::EFAULT
    } else {
        // What a helper only fills grows the stack when its bytes are written, after this.
        let grows_as = if size == 0 || by_helper { AccessType::Read } else { ty };
        grow_stack_state(env, reg.frameno(), -min_off as i32, grows_as);
        return Ok(());
    };
    let regno = Regno(regno);
    let kind = if var.is_const() {
        MemFault::BeyondStack { what, regno, min_off, size, told }
    } else {
        MemFault::VariableBeyondStack { what, regno, var, off, size, told }
    };
    Err(Stop::refuse(errno, kind))
}

/// Grows the stack of a frame to at least `bytes`.
#[inline]
pub(crate) fn grow_stack_state(env: &mut Env<'_>, frameno: u32, bytes: i32, ty: AccessType) {
    let rules = env.facts.rules();
    let frame = &mut env.walk.cur.frames[frameno as usize];
    if bytes <= frame.allocated_stack() {
        return;
    }
    let depth = (bytes as u32).next_multiple_of(8);
    // On kernels that do not allow reads of uninitialized stack, a read does not grow it.
    if ty == AccessType::Write || rules.unused_stack_read {
        frame.grow_stack(bytes);
    }
    let subprog = &mut env.learned.subprogs[frame.meta.subprogno as usize];
    subprog.stack_depth = subprog.stack_depth.max(depth);
}
