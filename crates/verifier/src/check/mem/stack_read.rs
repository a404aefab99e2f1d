//! Loads from the stack: fills, and data.
//!
//! Kernel: `check_stack_read_fixed_off`, `check_stack_read_var_off`, `mark_reg_stack_read` (6.18).

use super::region::Span;
use super::stack_range::check_stack_range_initialized;
use super::stack_whole::FRAME_POINTER;
use crate::HoleKind;
use crate::check::alu_rules::assign_scalar_id;
use crate::check::mem::access::{AccessType, MemAccess};
use crate::check::mem::stack_write::reg_width;
use crate::env::{Env, Facts};
use crate::rejection::{Check, MemFault, reject};
use crate::state::history::{Access, LinkedRegs};
use crate::state::reg::Reg;
use crate::state::stack::{Slot, SlotType, spi_of};
use skep_insn::code::BPF_STX;
use std::ops::Range;

/// `at.off` is relative to the frame pointer; bounds and alignment are checked.
#[inline(never)] // As `write_fixed_off`.
pub(super) fn read_fixed_off(env: &mut Env<'_>, frameno: u32, at: MemAccess) -> Check {
    let spi = spi_of(at.off);
    env.walk.mark_stack_slot_scratched(spi);
    env.check_fastcall_stack_contract(frameno, at.off);
    env.mark_stack_read(frameno, 1 << spi);
    let slot = env.walk.slot(frameno, spi);
    if !slot.is_spilled() {
        check_initialized(env.facts, &slot, at, false)?;
        if let Some(dst) = at.value_regno {
            mark_reg_stack_read(env, frameno, at.off..at.off + at.size, dst)?;
        }
        return Ok(());
    }
    if env.facts.rules().single_ids_forgotten {
        link_again(env, frameno, spi, at);
    }
    let slot = env.walk.slot(frameno, spi);
    let insn = env.insn();
    let pointer = if insn.class() == BPF_STX { insn.dst } else { insn.src };
    let is_recorded = env.facts.rules().stack_pointers_followed || pointer == FRAME_POINTER;
    if fill(env, &slot, at)? && is_recorded {
        env.walk.push_jmp_history(Access::stack(frameno, at.off), LinkedRegs::default());
    }
    Ok(())
}

/// Links a spilled scalar of four or eight bytes that is about to be filled with the destination
/// register.
fn link_again(env: &mut Env<'_>, frameno: u32, spi: usize, at: MemAccess) {
    let slot = env.walk.slot(frameno, spi);
    let mut reg = env.store.arena.reg(slot.spill);
    let spilled = slot.spilled_bytes();
    if at.value_regno.is_some() && at.off % 8 == 0 && at.size == spilled && at.size >= 4 {
        assign_scalar_id(&mut env.store, &mut reg);
        let packed = env.store.arena.pack(&reg);
        if packed != slot.spill {
            env.walk.cur.frames[frameno as usize].slot_mut(spi).spill = packed;
            env.walk.top_had_id |= frameno == 0 && spi == 0;
        }
    }
}

/// A load from a slot with a spilled register; true if it yields that register.
///
/// Slot and register share an id only if the spilled register had one before the fill.
fn fill(env: &mut Env<'_>, slot: &Slot, at: MemAccess) -> Check<bool> {
    let reg = env.store.arena.reg(slot.spill);
    let spill_size = slot.spilled_bytes();
    if at.size == 8 && spill_size == 8 {
        match at.value_regno {
            Some(dst) => env.set_reg(dst, reg),
            None if !env.facts.allow_ptr_leaks && !reg.is_scalar() => {
                reject!(EACCES, MemFault::StackLeaksPointer { off: at.off })
            }
            None => {}
        }
        return Ok(true);
    }
    if !reg.is_scalar() {
        env.trace.print_source_line(env.facts, env.walk.insn_idx, "; ");
        reject!(EACCES, MemFault::FillSize);
    }
    let Some(dst) = at.value_regno else { return Ok(false) };
    let narrow = env.facts.rules().narrow_fills_keep_ranges;
    if (at.size == spill_size || at.size < spill_size && narrow) && at.off % 8 == 0 {
        let mut reg = reg;
        if reg_width(&reg) > 8 * at.size as u32 {
            let rules = env.facts.rules();
            reg = if rules.parts_unlinked { reg.without_id(rules) } else { reg };
        }
        if at.is_ldsx && reg.id != 0 && env.goes_by(HoleKind::SignExtendedFill) {
            reg = reg.unlinked();
        }
        env.set_reg(dst, reg);
        return Ok(true);
    }
    check_initialized(env.facts, slot, at, true)?;
    let count = |ty| bytes_of(slot, at).filter(|&t| t == ty).count() as i32;
    let (spilled, zeros) = (count(SlotType::Spill), count(SlotType::Zero));
    if env.facts.rules().zeros_spilled && spilled == at.size && reg.is_null() {
        env.set_reg(dst, Reg::constant(0));
        return Ok(true);
    }
    let by_both = spilled + zeros == at.size && env.facts.rules().spilled_zeros_read;
    if spilled > 0 && by_both && reg.is_null() {
        env.set_reg(dst, Reg::constant(0));
        return Ok(true);
    }
    let known_zero = zeros == at.size;
    env.set_reg(dst, if known_zero { Reg::constant(0) } else { Reg::unknown() });
    Ok(false)
}

/// Types of the bytes read, from the lowest address.
fn bytes_of(slot: &Slot, at: MemAccess) -> impl Iterator<Item = SlotType> + '_ {
    (0..at.size).map(move |i| slot.byte(at.off + i))
}

/// Refuses to read bytes that were never written; bytes of a spilled register only where
/// `spilled_ok`.
fn check_initialized(facts: &Facts<'_>, slot: &Slot, at: MemAccess, spilled_ok: bool) -> Check {
    for i in 0..at.size {
        let readable = match slot.byte(at.off + i) {
            SlotType::Misc | SlotType::Zero => true,
            SlotType::Spill => spilled_ok,
            SlotType::Invalid => facts.allow_uninit_stack,
            _ => false,
        };
        if !readable {
            let (off, size) = (at.off, at.size);
            let [what, told] = slot.byte(at.off + i).unreadable();
            reject!(EACCES, MemFault::UninitStack { what, off, byte: i, size, told });
        }
    }
    Ok(())
}

/// `at.off` is the fixed part of the offset; bounds and alignment are checked.
pub(super) fn read_var_off(env: &mut Env<'_>, ptr: &Reg, at: MemAccess) -> Check {
    let span = Span { regno: at.regno, off: at.off, size: at.size, zero_size_allowed: false };
    check_stack_range_initialized(env, span, AccessType::Read, None)?;
    let Some(dst) = at.value_regno else { return Ok(()) };
    let min_off = (ptr.val.smin + i64::from(at.off)) as i32;
    let max_off = (ptr.val.smax + i64::from(at.off)) as i32;
    let frameno = ptr.frameno();
    mark_reg_stack_read(env, frameno, min_off..max_off + at.size, dst)?;
    env.check_fastcall_stack_contract(frameno, min_off);
    Ok(())
}

/// The result of a load of data: zero if all bytes are. On some kernels, those of a spilled zero
/// count, which is then precise.
fn mark_reg_stack_read(env: &mut Env<'_>, frameno: u32, bytes: Range<i32>, dst: u8) -> Check {
    let counts_spilled = env.facts.rules().spilled_zeros_read;
    let mut zeros = 0;
    let mut spilled = 0_u64;
    for off in bytes.clone() {
        let spi = spi_of(off);
        env.walk.mark_stack_slot_scratched(spi);
        match env.walk.cur.frames[frameno as usize].slot(spi).map(|slot| slot.byte(off)) {
            Some(SlotType::Zero) => {}
            Some(SlotType::Spill) if counts_spilled && env.spilled(frameno, spi).is_null() => {
                spilled |= 1 << spi;
            }
            _ => break,
        }
        zeros += 1;
    }
    if zeros < bytes.end - bytes.start {
        env.set_reg(dst, Reg::unknown());
        return Ok(());
    }
    if spilled != 0 {
        env.walk.bt.reset();
        env.walk.bt.frame = env.walk.cur.curframe() as usize;
        env.walk.bt.slots[frameno as usize] = spilled;
        env.mark_chain_precision_batch(None)?;
    }
    env.set_reg(dst, Reg::constant(0));
    Ok(())
}
