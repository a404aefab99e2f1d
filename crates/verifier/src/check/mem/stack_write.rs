//! Stores to the stack: spills, and data, which overwrites what was spilled.
//!
//! Kernel: `check_stack_write_fixed_off`, `check_stack_write_var_off`, `save_register_state`
//! (6.18).

use crate::check::alu_rules::assign_scalar_id;
use crate::check::mem::access::{AccessType, MemAccess};
use crate::check::mem::stack_bounds::grow_stack_state;
use crate::check::mem::stack_whole::FRAME_POINTER;
use crate::env::{Env, InsnFlags, Walk};
use crate::rejection::{Check, MemFault, Stop, reject};
use crate::state::arena::PackedReg;
use crate::state::history::{Access, LinkedRegs};
use crate::state::reg::Reg;
use crate::state::reg_type::{Base, RegType};
use crate::state::stack::{Slot, SlotType, spi_of};
use skep_insn::code::*;
use skep_uapi::Behaviours;
use skep_uapi::errno;
use skep_uapi::limits::MAX_BPF_STACK_BYTES;

/// `at.off` is relative to the frame pointer; bounds and alignment are checked.
#[inline(never)] // Inlined, it keeps smaller functions on the way to it from being inlined.
pub(super) fn write_fixed_off(env: &mut Env<'_>, frameno: u32, at: MemAccess) -> Check {
    let spi = spi_of(at.off);
    let whole = at.size == 8;
    check_no_corruption(env, frameno, spi, whole)?;
    if !env.facts.bypass_spec_v4 {
        let reg = at.value_regno.map(|r| env.reg(r));
        sanitize(env, frameno, spi, at, reg);
    }
    env.destroy_if_dynptr_stack_slot(frameno, spi)?;
    // What was a slice of the dynptr just destroyed is a scalar now.
    let reg = at.value_regno.map(|r| env.reg(r));
    let starts_slot = at.off % 8 == 0;
    if starts_slot && whole {
        env.mark_stack_write(frameno, 1 << spi);
    }
    env.check_fastcall_stack_contract(frameno, at.off);
    env.walk.mark_stack_slot_scratched(spi);

    let insn = env.insn();
    let is_recorded = env.facts.rules().stack_pointers_followed || insn.dst == FRAME_POINTER;
    match (reg, at.value_regno) {
        (Some(mut reg), Some(regno))
            if starts_slot
                && reg.is_scalar()
                && env.facts.bpf_capable
                && (whole || env.facts.rules().narrow_spills_kept)
                && keeps_scalar(env.facts.rules(), &reg) =>
        {
            if !is_recorded {
                env.mark_chain_precision(regno)?;
            }
            let fits = reg_width(&reg) <= 8 * at.size as u32;
            let mut name = env.walk.frame().name(regno);
            if fits {
                let before = (reg.id, reg.off);
                if env.facts.rules().spills_share_ids {
                    assign_scalar_id(&mut env.store, &mut reg);
                }
                if (reg.id, reg.off) != before {
                    name = env.store.arena.pack(&reg);
                    env.walk.cur.frame_mut().refine_name(regno, name);
                }
            } else if env.facts.rules().parts_unlinked {
                // The slot keeps the constant offset but not the id; the comparison of states in
                // loops reads it and, where dropped links leave constants, the fill.
                name.id = 0;
            }
            save_register_state(env, frameno, spi, name, at.size);
        }
        (None, _)
            if starts_slot
                && is_known_imm(env.facts.rules(), insn.code)
                && env.facts.bpf_capable
                && (insn.imm != 0 || env.facts.rules().any_number_spilled) =>
        {
            let name = env.store.arena.pack(&Reg::constant(i64::from(insn.imm) as u64));
            save_register_state(env, frameno, spi, name, at.size);
        }
        (Some(reg), Some(regno)) if is_spillable(env.facts.rules(), reg.ty) => {
            if !whole {
                env.trace.print_source_line(env.facts, env.walk.insn_idx, "; ");
                reject!(EACCES, MemFault::SpillSize);
            }
            if frameno != env.walk.cur.curframe() && reg.ty.is(Base::Stack) {
                reject!(EINVAL, MemFault::StackPointerToCaller);
            }
            save_register_state(env, frameno, spi, env.walk.frame().name(regno), at.size);
        }
        _ => return write_data(env, frameno, spi, at, reg),
    }
    if is_recorded {
        env.walk.push_jmp_history(Access::stack(frameno, at.off), LinkedRegs::default());
    }
    Ok(())
}

/// Whether a scalar stored to a slot is remembered.
fn keeps_scalar(rules: &Behaviours, reg: &Reg) -> bool {
    let is_number = rules.any_number_spilled || reg.val != Reg::unknown().val;
    is_number && (rules.zeros_spilled || !reg.is_null())
}

/// Unprivileged programs may overwrite a spilled pointer only as a whole.
fn check_no_corruption(env: &Env<'_>, frameno: u32, spi: usize, whole: bool) -> Check {
    if env.facts.allow_ptr_leaks || whole {
        return Ok(());
    }
    if env.walk.slot(frameno, spi).is_spilled() && !env.spilled(frameno, spi).is_scalar() {
        reject!(EACCES, MemFault::CorruptsSpill);
    }
    Ok(())
}

/// Marks a store that a speculative load could bypass: it needs a barrier.
fn sanitize(env: &mut Env<'_>, frameno: u32, spi: usize, at: MemAccess, reg: Option<Reg>) {
    let types = env.walk.slot(frameno, spi).types;
    let plain = |t: &SlotType| matches!(t, SlotType::Misc | SlotType::Zero);
    let spills = reg.is_some_and(|r| is_spillable(env.facts.rules(), r.ty));
    let mut overwritten = (0..at.size).map(|i| &types[(-(at.off + i) - 1) as usize % 8]);
    if spills || !overwritten.all(plain) {
        env.aux_mut().flags |= InsnFlags::NOSPEC_RESULT;
    }
}

/// A store that is not a spill: bytes of data, zero or not.
fn write_data(
    env: &mut Env<'_>,
    frameno: u32,
    spi: usize,
    at: MemAccess,
    reg: Option<Reg>,
) -> Check {
    let mut slot = without_spill(env.walk.slot(frameno, spi));
    let insn = env.insn();
    let zero = match reg {
        Some(reg) => reg.is_null(),
        None => is_known_imm(env.facts.rules(), insn.code) && insn.imm == 0,
    };
    if zero && let Some(regno) = at.value_regno {
        // Backtracking from the slot's zero bytes does not reach the register, so it is marked
        // precise now.
        env.walk.cur.frames[frameno as usize].set_slot(spi, slot);
        env.mark_chain_precision(regno)?;
    }
    let ty = if zero { SlotType::Zero } else { SlotType::Misc };
    for i in 0..at.size {
        slot.types[(-(at.off + i) - 1) as usize % 8] = ty;
    }
    env.walk.cur.frames[frameno as usize].set_slot(spi, slot);
    Ok(())
}

/// Makes `size` bytes at the pointer unknown data, as one store for each byte does; false if that
/// must check each store.
pub(crate) fn fill_with_data(env: &mut Env<'_>, ptr: &Reg, size: i32) -> bool {
    let frameno = ptr.frameno();
    let first = ptr.off.wrapping_add(ptr.val.var_off.value as i32);
    let bytes = first..first.wrapping_add(size);
    let is_plain = ptr.ty.is(Base::Stack)
        && ptr.val.var_off.is_const()
        && env.facts.bypass_spec_v4
        && env.facts.allow_ptr_leaks
        && size > 0
        && (-(MAX_BPF_STACK_BYTES as i32)..0).contains(&bytes.start)
        && bytes.end <= 0;
    if !is_plain {
        return false;
    }
    let spis = spi_of(bytes.end - 1)..=spi_of(first);
    let is_dynptr = |spi| env.walk.slot(frameno, spi).types[0] == SlotType::Dynptr;
    if spis.clone().any(is_dynptr) {
        return false;
    }
    grow_stack_state(env, frameno, -first, AccessType::Write);
    env.check_fastcall_stack_contract(frameno, first);
    for spi in spis {
        let old = env.walk.slot(frameno, spi);
        let mut slot = without_spill(old);
        for (byte, ty) in slot.types.iter_mut().enumerate() {
            if bytes.contains(&(-(8 * spi as i32 + byte as i32) - 1)) {
                *ty = SlotType::Misc;
            }
        }
        env.walk.mark_stack_slot_scratched(spi);
        env.walk.cur.frames[frameno as usize].set_slot(spi, slot);
    }
    true
}

/// The slot without its spilled register: its bytes become data.
fn without_spill(mut slot: Slot) -> Slot {
    slot.spill = PackedReg::NOT_INIT;
    // A dynptr that a store does not end keeps its other bytes.
    if is_special(slot.types[7]) && slot.types[7] != SlotType::Dynptr {
        slot.types.iter_mut().for_each(scrub);
    }
    slot
}

/// The same, in place.
#[inline(always)]
fn end_spill(walk: &mut Walk, frameno: u32, spi: usize) {
    let slot = without_spill(walk.slot(frameno, spi));
    walk.cur.frames[frameno as usize].set_slot(spi, slot);
}

/// Drops the spilled register but leaves the types of the bytes.
fn forget_register(walk: &mut Walk, frameno: u32, spi: usize) {
    let slot = Slot { spill: PackedReg::NOT_INIT, ..walk.slot(frameno, spi) };
    walk.cur.frames[frameno as usize].set_slot(spi, slot);
}

/// Stores a register in the top `size` bytes of a slot.
fn save_register_state(env: &mut Env<'_>, frameno: u32, spi: usize, name: PackedReg, size: i32) {
    let zeros_stay = env.facts.rules().zeros_beside_spills;
    let mut slot = env.walk.slot(frameno, spi);
    slot.spill = name;
    if frameno == 0 && spi == 0 {
        // A copied constant has an id on some kernels.
        env.walk.top_had_id |= name.id != 0 || env.store.arena.reg(name).is_const();
    }
    let first = 8 - size as usize;
    slot.types[first..].fill(SlotType::Spill);
    for ty in &mut slot.types[..first] {
        // Zero bytes stay zero, and bytes that were never written stay invalid.
        let stays = ty.is_nothing() || *ty == SlotType::Zero && zeros_stay;
        if !stays {
            *ty = SlotType::Misc;
        }
    }
    env.walk.cur.frames[frameno as usize].set_slot(spi, slot);
}

/// `at.off` is the fixed part of the offset; bounds and alignment are checked.
#[inline(never)] // Its loop over the bytes would share registers with its caller.
pub(super) fn write_var_off(env: &mut Env<'_>, ptr: &Reg, at: MemAccess) -> Check {
    let frameno = ptr.frameno();
    let min_off = (ptr.val.smin + i64::from(at.off)) as i32;
    let max_off = (ptr.val.smax + i64::from(at.off)) as i32 + at.size;
    let insn = env.insn();
    let writing_zero = match at.value_regno {
        Some(r) => env.reg(r).is_null(),
        None => is_st_mem(insn.code) && insn.imm == 0 && env.facts.rules().constant_zeros_known,
    };
    for off in min_off..max_off {
        env.destroy_if_dynptr_stack_slot(frameno, spi_of(off))?;
    }
    env.check_fastcall_stack_contract(frameno, min_off);
    let mut zero_used = false;
    for off in min_off..max_off {
        zero_used |= write_var_byte(env, frameno, off, writing_zero)?;
    }
    if zero_used && let Some(regno) = at.value_regno {
        env.mark_chain_precision(regno)?;
    }
    Ok(())
}

/// Writes one byte that the store may overwrite; true if it still holds zero because zero is
/// written.
fn write_var_byte(env: &mut Env<'_>, frameno: u32, off: i32, writing_zero: bool) -> Check<bool> {
    let (spi, byte) = (spi_of(off), (-off - 1) as usize % 8);
    let insn_idx = env.walk.insn_idx;
    env.walk.mark_stack_slot_scratched(spi);
    let slot = env.walk.slot(frameno, spi);
    let ty = slot.types[byte];
    if ty == SlotType::Misc && slot == without_spill(slot) {
        return Ok(false);
    }
    if !env.facts.allow_ptr_leaks && !matches!(ty, SlotType::Misc | SlotType::Zero) {
        let kind = MemFault::VariableWriteOverSpill { insn_idx, off };
        return Err(Stop::refuse_open_line(errno::EINVAL, kind));
    }
    if writing_zero && ty == SlotType::Spill && slot.is_spilled() {
        let spilled = env.store.arena.reg(slot.spill);
        if spilled.is_null() {
            return Ok(true);
        }
    }
    match env.facts.rules().var_off_writes_scrub {
        true => end_spill(&mut env.walk, frameno, spi),
        false => forget_register(&mut env.walk, frameno, spi),
    }
    let ty = env.walk.slot(frameno, spi).types[byte];
    let stays_zero = writing_zero && ty == SlotType::Zero;
    if ty.is_nothing() && !env.facts.allow_ptr_leaks {
        let kind = MemFault::VariableWriteOverUninit { insn_idx, off };
        return Err(Stop::refuse_open_line(errno::EINVAL, kind));
    }
    let mut slot = env.walk.slot(frameno, spi);
    slot.types[byte] = if stays_zero { SlotType::Zero } else { SlotType::Misc };
    env.walk.cur.frames[frameno as usize].set_slot(spi, slot);
    Ok(stays_zero)
}

/// `*(size *)(dst + off) = imm`.
fn is_st_mem(code: u8) -> bool {
    code & CLASS_MASK == BPF_ST && code & MODE_MASK == BPF_MEM
}

/// The same, on kernels that know what is stored.
fn is_known_imm(rules: &Behaviours, code: u8) -> bool {
    rules.immediates_tracked && is_st_mem(code)
}

/// Whether a slot whose last byte has this type holds more than data.
fn is_special(ty: SlotType) -> bool {
    !ty.is_nothing() && !matches!(ty, SlotType::Misc | SlotType::Zero)
}

/// Makes a byte unknown. Kernel: `scrub_spilled_slot`.
pub(super) fn scrub(ty: &mut SlotType) {
    if !ty.is_nothing() {
        *ty = SlotType::Misc;
    }
}

/// Whether the verifier keeps such a pointer when it is spilled.
///
/// Kernel: `is_spillable_regtype` (6.18).
pub(crate) fn is_spillable(rules: &Behaviours, ty: RegType) -> bool {
    match ty.base {
        Base::NotInit | Base::Scalar => false,
        Base::TpBuffer => rules.buffers_spilled,
        Base::ConstDynptr => rules.dynptr_pointers_spilled,
        _ => true,
    }
}

/// Number of bits that the value may use.
#[inline]
pub(crate) fn reg_width(reg: &Reg) -> u32 {
    64 - reg.val.umax.leading_zeros()
}
