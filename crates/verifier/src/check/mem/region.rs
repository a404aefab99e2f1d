//! Memory of known size: an access must be inside for every value of the variable offset.
//!
//! Kernel: `check_mem_region_access`, `__check_mem_access`, `__check_ptr_off_reg` (6.18).

use crate::check::mem::access::{MemAccess, check_no_leak};
use crate::env::Env;
use crate::rejection::{Check, MemFault, Regno, Word, reject};
use crate::state::reg::Reg;
use crate::state::reg_type::{Base, TypeFlag};
use skep_uapi::limits::BPF_MAX_VAR_OFF;

/// Additional line of some kernels about the lowest offset.
pub(super) const OUTSIDE: Word = "min value is outside of the allowed memory range";

/// A range relative to a pointer; `off` includes its fixed offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) regno: u8,
    pub(crate) off: i32,
    pub(crate) size: i32,
    /// An empty range is allowed too.
    pub(crate) zero_size_allowed: bool,
}

impl Span {
    /// What `at` accesses, with `off` including the pointer's fixed offset.
    pub(crate) fn of(at: MemAccess, off: i32) -> Span {
        Span { regno: at.regno, off, size: at.size, zero_size_allowed: false }
    }
}

/// Checks that the span is within `[0, mem_size)` for every value of the variable offset.
pub(crate) fn check_mem_region_access(env: &Env<'_>, span: Span, mem_size: u32) -> Check {
    let Span { regno, mut off, .. } = span;
    let (mut smin, mut umax) = (env.reg(regno).val.smin, env.reg(regno).val.umax);
    if env.facts.rules().offsets_are_bounds {
        let reg = env.reg(regno);
        let whole = reg.whole_offset();
        (smin, umax) = (whole.smin, whole.umax);
        off = off.wrapping_sub(reg.off);
    }
    let low = smin.wrapping_add(i64::from(off));
    if smin < 0 && (smin == i64::MIN || low != i64::from(low as i32) || low < 0) {
        return refuse_negative(regno);
    }
    if let Err(stop) = check_inside(env, Span { off: low as i32, ..span }, mem_size) {
        return Err(stop.led_to(MemFault::MinOutside { regno: Regno(regno) }));
    }
    if umax >= BPF_MAX_VAR_OFF as u64 {
        reject!(EACCES, MemFault::UnboundedAccess { regno: Regno(regno) });
    }
    let high = umax.wrapping_add(i64::from(off) as u64);
    if let Err(stop) = check_inside(env, Span { off: high as i32, ..span }, mem_size) {
        return Err(stop.led_to(MemFault::MaxOutside { regno: Regno(regno) }));
    }
    Ok(())
}

/// Refuses a pointer whose offset may be negative.
pub(crate) fn refuse_negative(regno: u8) -> Check {
    reject!(EACCES, MemFault::MaybeNegative { regno: Regno(regno) })
}

/// Checks that the span is within `[0, mem_size)`; `span.off` is the whole offset.
pub(crate) fn check_inside(env: &Env<'_>, span: Span, mem_size: u32) -> Check {
    let Span { regno, off, size, zero_size_allowed } = span;
    let size_ok = size > 0 || (size == 0 && zero_size_allowed);
    if off >= 0 && size_ok && i64::from(off) + i64::from(size) <= i64::from(mem_size) {
        return Ok(());
    }
    let reg = env.reg(regno);
    match reg.ty.base {
        Base::MapKey if reg.ty.is(Base::MapKey) => {
            reject!(EACCES, MemFault::BeyondMapKey { mem_size, off, size })
        }
        Base::MapValue if reg.ty.is(Base::MapValue) => {
            reject!(EACCES, MemFault::BeyondMapValue { mem_size, off, size })
        }
        _ if reg.ty.is_packet() || reg.ty.is(Base::PacketEnd) => {
            let id = reg.id;
            reject!(EACCES, MemFault::BeyondPacket { off, size, regno: Regno(regno), id, mem_size })
        }
        _ => reject!(EACCES, MemFault::BeyondMem { mem_size, off, size }),
    }
}

/// Checks that a pointer has not been modified.
///
/// Kernel: `check_ptr_off_reg`; with `fixed_off_ok` the fixed offset may have changed
/// (`__check_ptr_off_reg`).
pub(crate) fn check_ptr_off_reg(reg: &Reg, regno: u8, fixed_off_ok: bool) -> Check {
    let (ty, off) = (reg.ty, reg.off);
    if off < 0 {
        reject!(EACCES, MemFault::NegativeOffset { ty, regno: Regno(regno), off });
    }
    if !fixed_off_ok && off != 0 {
        reject!(EACCES, MemFault::ModifiedPointer { ty, regno: Regno(regno), off });
    }
    let var = reg.val.var_off;
    if !var.is_const() || var.value != 0 {
        reject!(EACCES, MemFault::VariablePointer { ty, var });
    }
    Ok(())
}

/// Memory returned by a helper, a dynptr slice, or an argument of a global function.
pub(super) fn access_mem(env: &mut Env<'_>, reg: &Reg, at: MemAccess, off: i32) -> Check {
    let rdonly = reg.ty.has(TypeFlag::MEM_RDONLY);
    if reg.ty.may_be_null() {
        reject!(EACCES, MemFault::NotMemory { regno: Regno(at.regno), ty: reg.ty });
    }
    if at.is_write() && rdonly {
        reject!(EACCES, MemFault::NotWritable { regno: Regno(at.regno), ty: reg.ty });
    }
    check_no_leak(env, at, "mem")?;
    // Reads of untrusted memory are probes, which cannot fault.
    if !(rdonly && reg.ty.has(TypeFlag::PTR_UNTRUSTED)) {
        check_mem_region_access(env, Span::of(at, off), reg.mem_size())?;
    }
    super::mark_loaded_unknown(&mut env.walk, at);
    Ok(())
}
