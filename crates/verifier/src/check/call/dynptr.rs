//! Dynptrs: two stack slots that a helper makes, and that helpers read and write through.
//!
//! The slot at the lower address (the higher slot number) is the first one.
//!
//! Kernel: `process_dynptr_func`, `mark_stack_slots_dynptr`, `unmark_stack_slots_dynptr`,
//! `destroy_if_dynptr_stack_slot` (6.18).

use super::meta::CallMeta;
use super::refs::{acquire_reference, dead_reg, release_reference};
use crate::check::mem::{AccessType, MemAccess, check_mem_access};
use crate::env::Env;
use crate::log::reg_text::dynptr_str;
use crate::log::reject;
use crate::rejection::{Check, Stop};
use crate::state::reg::{DynptrKind, Extra, Reg};
use crate::state::reg_type::{Base, RegType, TypeFlag as F};
use crate::state::stack::{SlotType, spi_of};
use skep_uapi::helper::{ArgBase, HelperId};

/// Slots of a dynptr.
const BPF_DYNPTR_NR_SLOTS: usize = 2;

/// First slot of the dynptr that the pointer points to; `None` if it lies beyond the touched stack.
///
/// Kernel: `dynptr_get_spi` (6.18).
fn dynptr_spi(env: &mut Env<'_>, reg: &Reg) -> Check<Option<usize>> {
    if !reg.val.is_const() {
        reject!(env, EINVAL, "dynptr has to be at a constant offset");
    }
    let off = reg.off.wrapping_add(reg.val.var_off.value as i32);
    if off % 8 != 0 || off >= 0 || spi_of(off) + 1 < BPF_DYNPTR_NR_SLOTS {
        reject!(env, EINVAL, "cannot pass in dynptr at an offset={off}");
    }
    let spi = spi_of(off);
    let allocated = env.cur.frames[reg.frameno() as usize].slots().len();
    Ok((spi < allocated).then_some(spi))
}

fn kind_of(reg: &Reg) -> DynptrKind {
    match reg.extra {
        Extra::Dynptr { kind, .. } => kind,
        _ => DynptrKind::Invalid,
    }
}

fn is_first_slot(reg: &Reg) -> bool {
    matches!(reg.extra, Extra::Dynptr { first_slot: true, .. })
}

fn is_refcounted(kind: DynptrKind) -> bool {
    kind == DynptrKind::Ringbuf
}

fn kind_from_flags(flags: F) -> DynptrKind {
    const KINDS: [(F, DynptrKind); 5] = [
        (F::DYNPTR_TYPE_LOCAL, DynptrKind::Local),
        (F::DYNPTR_TYPE_RINGBUF, DynptrKind::Ringbuf),
        (F::DYNPTR_TYPE_SKB, DynptrKind::Skb),
        (F::DYNPTR_TYPE_XDP, DynptrKind::Xdp),
        (F::DYNPTR_TYPE_SKB_META, DynptrKind::SkbMeta),
    ];
    KINDS.iter().find(|(f, _)| flags.contains(*f)).map_or(DynptrKind::Invalid, |k| k.1)
}

/// A dynptr argument: made by the call, or used by it.
pub(crate) fn process_dynptr(env: &mut Env<'_>, regno: u8, flags: F) -> Check {
    let reg = *env.reg(regno);
    let arg = regno - 1;
    if !reg.ty.is(Base::Stack) && !reg.ty.is(Base::ConstDynptr) {
        reject!(env, EINVAL, "arg#{arg} expected pointer to stack or const struct bpf_dynptr");
    }
    if flags.contains(F::MEM_UNINIT) {
        return make_dynptr(env, regno, kind_from_flags(flags));
    }
    if reg.ty.is(Base::ConstDynptr) && !flags.contains(F::MEM_RDONLY) {
        reject!(env, EINVAL, "cannot pass pointer to const bpf_dynptr, the helper mutates it");
    }
    let Some((kind, spi)) = initialized(env, &reg)? else {
        reject!(env, EINVAL, "Expected an initialized dynptr as arg #{arg}");
    };
    let expected = kind_from_flags(flags);
    if flags.intersects(F::DYNPTR_TYPE_MASK) && kind != expected {
        let name = dynptr_str(expected);
        reject!(env, EINVAL, "Expected a dynptr of type {name} as arg #{arg}");
    }
    if let Some(spi) = spi {
        for slot in [spi, spi - 1] {
            env.mark_stack_read(reg.frameno(), 1 << slot);
            env.mark_stack_slot_scratched(slot);
        }
    }
    Ok(())
}

/// Kind of the dynptr, and its first slot if it is on the stack; `None` if there is none.
fn initialized(env: &mut Env<'_>, reg: &Reg) -> Check<Option<(DynptrKind, Option<usize>)>> {
    if reg.ty.is(Base::ConstDynptr) {
        return Ok(Some((kind_of(reg), None)));
    }
    let Some(spi) = first_slot_at(env, reg)? else { return Ok(None) };
    let spilled = env.spilled(reg.frameno(), spi);
    Ok(Some((kind_of(&spilled), Some(spi))))
}

/// First slot of the whole dynptr that a stack pointer points to.
fn first_slot_at(env: &mut Env<'_>, reg: &Reg) -> Check<Option<usize>> {
    let spi = match dynptr_spi(env, reg) {
        Ok(Some(spi)) => spi,
        Ok(None) | Err(Stop::Reject { .. }) => return Ok(None),
        Err(stop) => return Err(stop),
    };
    let frame = &env.cur.frames[reg.frameno() as usize];
    let whole = |spi| frame.slot(spi).is_some_and(|s| s.types == [SlotType::Dynptr; 8]);
    let found = whole(spi) && whole(spi - 1);
    let first = is_first_slot(&env.spilled(reg.frameno(), spi));
    Ok((found && first).then_some(spi))
}

fn make_dynptr(env: &mut Env<'_>, regno: u8, kind: DynptrKind) -> Check {
    let reg = *env.reg(regno);
    let spot =
        if reg.ty.is(Base::ConstDynptr) { Ok(None) } else { dynptr_spi(env, &reg).map(Some) };
    match spot {
        Ok(Some(_)) => {}
        Ok(None) | Err(Stop::Reject { .. }) => {
            reject!(env, EINVAL, "Dynptr has to be an uninitialized dynptr")
        }
        Err(stop) => return Err(stop),
    }
    for off in [0, 8] {
        check_mem_access(
            env,
            MemAccess {
                regno,
                off,
                size: 8,
                ty: AccessType::Write,
                value_regno: None,
                strict_alignment_once: false,
                is_ldsx: false,
            },
        )?;
    }
    mark_stack_slots(env, &reg, kind)
}

fn mark_stack_slots(env: &mut Env<'_>, reg: &Reg, kind: DynptrKind) -> Check {
    let Some(spi) = dynptr_spi(env, reg)? else {
        return Err(Stop::Bug("dynptr beyond the stack".to_string()));
    };
    let frameno = reg.frameno();
    destroy_dynptr_at(env, frameno, spi)?;
    destroy_dynptr_at(env, frameno, spi - 1)?;
    let id = env.new_id();
    let ref_obj_id = if is_refcounted(kind) { acquire_reference(env) } else { 0 };
    for (slot, first_slot) in [(spi, true), (spi - 1, false)] {
        let spilled = Reg {
            id,
            ref_obj_id,
            extra: Extra::Dynptr { kind, first_slot },
            ..Reg::pointer(RegType::of(Base::ConstDynptr))
        };
        env.set_spilled(frameno, slot, &spilled);
        env.cur.frames[frameno as usize].slot_mut(slot).types = [SlotType::Dynptr; 8];
    }
    env.mark_stack_write(frameno, 1 << spi | 1 << (spi - 1));
    Ok(())
}

/// The slots hold nothing any more.
fn invalidate_slots(env: &mut Env<'_>, frameno: u32, spi: usize) {
    for slot in [spi, spi - 1] {
        env.set_spilled(frameno, slot, &Reg::not_init());
        env.cur.frames[frameno as usize].slot_mut(slot).types = [SlotType::Invalid; 8];
    }
    env.mark_stack_write(frameno, 1 << spi | 1 << (spi - 1));
}

/// A write to slot `spi` ends the dynptr that it belongs to, and its slices.
pub(crate) fn destroy_dynptr_at(env: &mut Env<'_>, frameno: u32, spi: usize) -> Check {
    let slot = env.cur.frames[frameno as usize].slot(spi);
    if slot.is_none_or(|s| s.types[0] != SlotType::Dynptr) {
        return Ok(());
    }
    let spi = if is_first_slot(&env.spilled(frameno, spi)) { spi } else { spi + 1 };
    let dynptr = env.spilled(frameno, spi);
    if is_refcounted(kind_of(&dynptr)) {
        reject!(env, EINVAL, "cannot overwrite referenced dynptr");
    }
    env.mark_stack_slot_scratched(spi);
    env.mark_stack_slot_scratched(spi - 1);
    let dead = dead_reg(env);
    env.for_each_reg(|reg| {
        let plain = reg.ty.without(F::PTR_MAYBE_NULL).is(Base::Mem);
        let slice = matches!(reg.extra, Extra::Mem { dynptr_id, .. } if dynptr_id == dynptr.id);
        if plain && slice {
            *reg = dead;
        }
        plain && slice
    });
    invalidate_slots(env, frameno, spi);
    Ok(())
}

/// Checks that a dynptr that is released was acquired.
pub(crate) fn check_release(env: &mut Env<'_>, reg: &Reg, regno: u8) -> Check {
    if !reg.ty.is(Base::Stack) {
        reject!(env, EINVAL, "cannot release unowned const bpf_dynptr");
    }
    let spi = match dynptr_spi(env, reg) {
        Err(Stop::Reject { .. }) => None,
        spi => spi?,
    };
    let held = spi.is_some_and(|spi| env.spilled(reg.frameno(), spi).ref_obj_id != 0);
    if !held {
        reject!(env, EINVAL, "arg {regno} is an unacquired reference");
    }
    Ok(())
}

/// Releases the dynptr that argument `regno` points to, its clones and its slices.
pub(crate) fn unmark_stack_slots(env: &mut Env<'_>, regno: u8) -> Check {
    let reg = *env.reg(regno);
    let frameno = reg.frameno();
    let Some(spi) = dynptr_spi(env, &reg)? else {
        return Err(Stop::Bug("dynptr beyond the stack".to_string()));
    };
    let dynptr = env.spilled(frameno, spi);
    if !is_refcounted(kind_of(&dynptr)) {
        invalidate_slots(env, frameno, spi);
        return Ok(());
    }
    release_reference(env, dynptr.ref_obj_id);
    let slots = env.cur.frames[frameno as usize].slots().len();
    for at in 1..slots {
        let held = env.spilled(frameno, at);
        let is_dynptr = env.cur.frames[frameno as usize].slots()[at].types[0] == SlotType::Dynptr;
        if is_dynptr && held.ref_obj_id == dynptr.ref_obj_id && is_first_slot(&held) {
            invalidate_slots(env, frameno, at);
        }
    }
    Ok(())
}

/// The dynptr argument of `bpf_dynptr_data` and `bpf_dynptr_write`.
pub(crate) fn check_data_or_write(env: &mut Env<'_>, meta: &mut CallMeta) -> Check {
    let Some(regno) = super::helper::arg_register(meta.proto, ArgBase::Dynptr) else {
        return Err(Stop::Bug("no dynptr argument".to_string()));
    };
    let reg = *env.reg(regno);
    let dynptr = if reg.ty.is(Base::ConstDynptr) {
        reg
    } else {
        match dynptr_spi(env, &reg)? {
            Some(spi) => env.spilled(reg.frameno(), spi),
            None => return Err(Stop::Bug("dynptr beyond the stack".to_string())),
        }
    };
    if meta.func == HelperId::DynptrData {
        meta.dynptr_id = dynptr.id;
        meta.ref_obj_id = dynptr.ref_obj_id;
    } else if matches!(kind_of(&dynptr), DynptrKind::Skb | DynptrKind::SkbMeta) {
        meta.changes_data = true;
    }
    Ok(())
}
