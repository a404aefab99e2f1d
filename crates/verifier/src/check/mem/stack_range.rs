//! A range of the stack that a helper, or a load with a variable offset, may access.
//!
//! Kernel: `check_stack_range_initialized` (6.18).

use super::region::Span;
use super::stack_write::scrub;
use crate::check::mem::access::AccessType;
use crate::check::mem::stack_bounds::check_stack_bounds;
use crate::env::Env;
use crate::rejection::{Check, MemFault, Regno, reject};
use crate::state::arena::PackedReg;
use crate::state::reg_type::Base;
use crate::state::stack::{SlotType, spi_of};
use skep_insn::code::BPF_JMP;
use std::ops::Range;

/// A range that a helper fills without reading it; the caller then simulates byte writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawRange {
    pub(crate) regno: u8,
    pub(crate) access_size: i32,
}

/// Checks that the whole span may be read, and makes it unknown if a helper writes it.
///
/// `span.off` includes the pointer's fixed offset. With `raw`, the memory need not be initialized;
/// the range is then recorded there, unless its offset varies.
pub(crate) fn check_stack_range_initialized(
    env: &mut Env<'_>,
    span: Span,
    ty: AccessType,
    raw: Option<&mut Option<RawRange>>,
) -> Check {
    let reg = env.reg(span.regno);
    let Span { regno, off, size, .. } = span;
    let var = reg.val.var_off;
    if size == 0 && !span.zero_size_allowed {
        reject!(EACCES, MemFault::ZeroSizedRead);
    }
    check_stack_bounds(env, span, ty, true)?;
    let (min_off, max_off, raw) = if var.is_const() {
        let at = off.wrapping_add(var.value as i32);
        (at, at, raw)
    } else {
        if !env.facts.bypass_spec_v1 {
            reject!(EACCES, MemFault::VariableStackUnprivileged { regno: Regno(regno), var });
        }
        let at = |bound: i64| (bound + i64::from(off)) as i32;
        (at(reg.val.smin), at(reg.val.smax), None)
    };
    let frameno = reg.frameno();
    if let Some(raw) = raw {
        check_no_dynptr(env, frameno, min_off..max_off + size)?;
        *raw = Some(RawRange { regno, access_size: size });
        return Ok(());
    }
    let by_helper = env.insn().class() == BPF_JMP;
    let clobbers =
        ty == AccessType::Write || by_helper && !env.facts.rules().helper_reads_keep_spills;
    let mut marked = None;
    for at in min_off..max_off + size {
        if !touch_byte(env, frameno, at, clobbers) {
            let i = at - min_off;
            if var.is_const() {
                let [what, told] = env.walk.slot(frameno, spi_of(at)).byte(at).unreadable();
                let regno = Regno(regno);
                reject!(
                    EACCES,
                    MemFault::UninitStackArg { what, regno, min_off, byte: i, size, told }
                );
            }
            let (by, regno) = (if by_helper { "call" } else { "load" }, Regno(regno));
            reject!(EACCES, MemFault::UninitVariableStackArg { by, regno, var, byte: i, size });
        }
        let spi = spi_of(at);
        if marked.replace(spi) != Some(spi) {
            env.mark_stack_read(frameno, 1 << spi);
        }
    }
    Ok(())
}

/// Whether the byte at `off` may be read. If `clobber`, its value becomes unknown.
fn touch_byte(env: &mut Env<'_>, frameno: u32, off: i32, clobber: bool) -> bool {
    let (spi, byte) = (spi_of(off), (-off - 1) as usize % 8);
    let Some(slot) = env.walk.cur.frames[frameno as usize].slot(spi).copied() else { return false };
    match slot.types[byte] {
        SlotType::Misc => return true,
        // A global function is given what it does not read, too.
        SlotType::Forgotten if !clobber && !env.insn().is_pseudo_call() => return false,
        ty if ty == SlotType::Zero || (ty.is_nothing() && env.facts.allow_uninit_stack) => {
            if clobber {
                env.walk.cur.frames[frameno as usize].slot_mut(spi).types[byte] = SlotType::Misc;
            }
            return true;
        }
        _ => {}
    }
    if !slot.is_spilled() || !(env.facts.allow_ptr_leaks || env.spilled(frameno, spi).is_scalar()) {
        return false;
    }
    let object = env.facts.rules().helper_accesses_keep_objects
        && env.spilled(frameno, spi).ty.base == Base::BtfId;
    if clobber && !object {
        let slot = env.walk.cur.frames[frameno as usize].slot_mut(spi);
        slot.spill = PackedReg::UNKNOWN;
        slot.types.iter_mut().for_each(scrub);
    }
    true
}

/// The store itself follows when all arguments are checked.
fn check_no_dynptr(env: &Env<'_>, frameno: u32, bytes: Range<i32>) -> Check {
    if !env.facts.rules().dynptrs_guarded {
        return Ok(());
    }
    for off in bytes {
        let slot = env.walk.cur.frames[frameno as usize].slot(spi_of(off));
        if slot.is_some_and(|s| s.types[(-off - 1) as usize % 8] == SlotType::Dynptr) {
            reject!(EACCES, MemFault::WriteToDynptr { off });
        }
    }
    Ok(())
}
