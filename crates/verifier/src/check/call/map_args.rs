//! Maps as arguments: keys, values, the map and the constant key of a call that are the same on
//! every path, and which helper accepts which map.
//!
//! Kernel: the map parts of `check_func_arg`, `get_constant_map_key`, `record_func_map`,
//! `record_func_key`, `check_map_func_compatibility` (6.18).

use super::arg_mem::{ArgMem, check_helper_mem_access};
use super::meta::CallMeta;
use crate::check::mem::access::AccessType;
use crate::env::{CallMap, Env, Facts, Found};
use crate::rejection::{CallFault, Check, Stop, reject};
use crate::state::reg_type::Base;
use crate::state::stack::{SlotType, spi_of};
use skep_program::{AttachTarget, MapDef};
use skep_uapi::errno;
use skep_uapi::helper::{ArgBase, ArgType, HelperId, HookKey, ProtoFlags};
use skep_uapi::{Behaviours, MapFlags, MapType, TypeFlag, map_func_compatible};

/// Definition of the map argument.
fn map_def<'a>(facts: &Facts<'a>, meta: &CallMeta) -> Option<&'a MapDef> {
    meta.map.and_then(|m| facts.maps.get(m.map as usize)).map(|view| view.def)
}

/// Resolves the value argument of maps whose values are not memory.
pub(crate) fn resolve_value_type(facts: &Facts<'_>, meta: &CallMeta, ty: &mut ArgType) -> Check {
    let Some(def) = map_def(facts, meta) else {
        reject!(EACCES, CallFault::NoMapForArg);
    };
    match def.map_type {
        holder if holder.holds_sockets() => {
            if !ty.flags.is_empty() {
                reject!(EINVAL, CallFault::SockmapArg);
            }
            ty.base = ArgBase::BtfIdSockCommon;
        }
        MapType::BloomFilter if meta.func == HelperId::MapPeekElem => {
            ty.flags = TypeFlag::empty();
        }
        _ => {}
    }
    Ok(())
}

/// Checks a pointer to a key.
pub(crate) fn check_key(env: &mut Env<'_>, meta: &mut CallMeta, regno: u8) -> Check {
    let Some(def) = map_def(env.facts, meta) else {
        reject!(EACCES, CallFault::NoMapForKey);
    };
    let mem = ArgMem { regno, size: def.key_size as i32, zero_size_allowed: false };
    check_helper_mem_access(env, mem, AccessType::Read, None)?;
    if can_elide_value_nullness(env.facts.rules(), def) {
        meta.const_map_key = constant_map_key(env, regno, def.key_size)?;
    }
    Ok(())
}

/// Lookups in these maps with a constant key that exists cannot fail. Not for inner maps: they may
/// have fewer elements than their template.
pub(crate) fn can_elide_value_nullness(rules: &Behaviours, def: &MapDef) -> bool {
    rules.array_lookups_not_null
        && matches!(def.map_type, MapType::Array | MapType::PercpuArray)
        && !(rules.flexible_lookups_may_fail && def.map_flags.contains(MapFlags::INNER_MAP))
}

/// The key, if it is a known constant on the stack; it is then marked as precise.
fn constant_map_key(env: &mut Env<'_>, regno: u8, key_size: u32) -> Check<Option<u64>> {
    let key = env.reg(regno);
    if !env.facts.bpf_capable || !key.ty.is(Base::Stack) || !key.val.is_const() {
        return Ok(None);
    }
    let frameno = key.frameno();
    let off = key.off.wrapping_add(key.val.var_off.value as i32);
    let (spi, last) = (spi_of(off), (-off - 1) as usize % 8);
    let Some(slot) = env.walk.cur.frames[frameno as usize].slot(spi).copied() else {
        return Ok(None);
    };
    let run = |ty| slot.types[..=last].iter().rev().take_while(|&&t| t == ty).count() as u32;
    if run(SlotType::Zero) >= key_size {
        return Ok(Some(0));
    }
    let spilled = env.spilled(frameno, spi);
    if !slot.is_spilled() || !spilled.is_const() || run(SlotType::Spill) != key_size {
        return Ok(None);
    }
    env.walk.bt.reset();
    env.walk.bt.frame = env.walk.cur.curframe() as usize;
    env.walk.bt.set_frame_slot(frameno as usize, spi);
    env.mark_chain_precision_batch(None)?;
    Ok(spilled.const_value())
}

/// Checks a pointer to a value.
pub(crate) fn check_value(env: &mut Env<'_>, meta: &mut CallMeta, regno: u8, ty: ArgType) -> Check {
    if ty.maybe_null() && env.reg(regno).is_null() {
        return Ok(());
    }
    let Some(def) = map_def(env.facts, meta) else {
        reject!(EACCES, CallFault::NoMapForValue);
    };
    meta.raw_mode = ty.flags.contains(TypeFlag::MEM_UNINIT);
    let raw = if meta.raw_mode { Some(&mut meta.raw) } else { None };
    let write = ty.flags.contains(TypeFlag::MEM_WRITE);
    let access = if write { AccessType::Write } else { AccessType::Read };
    let mem = ArgMem { regno, size: def.value_size as i32, zero_size_allowed: false };
    check_helper_mem_access(env, mem, access, raw)
}

/// Records which map the call uses, so that it can be inlined if that is always the same.
pub(crate) fn record_func_map(env: &mut Env<'_>, meta: &CallMeta) -> Check {
    let flags = meta.proto.flags;
    let map = meta.map.filter(|_| flags.contains(ProtoFlags::MAP_CALL));
    let (Some(map), Some(def)) = (map, map_def(env.facts, meta)) else {
        return Ok(());
    };
    if flags.contains(ProtoFlags::MAP_WRITE) && def.is_rdonly_prog() {
        reject!(EACCES, CallFault::MapReadOnly);
    }
    let aux = env.aux_mut();
    if aux.found == Found::KernelMem {
        return Ok(());
    }
    let known = match aux.call_map() {
        CallMap::Unknown => CallMap::Known(map.map),
        CallMap::Known(known) if known == map.map => CallMap::Known(known),
        _ => CallMap::Poisoned,
    };
    aux.found = Found::CallMap(known);
    Ok(())
}

/// Marks the index of a tail call as precise, if it is known.
pub(crate) fn record_func_key(env: &mut Env<'_>, meta: &CallMeta) -> Check {
    if meta.func != HelperId::TailCall {
        return Ok(());
    }
    let def = map_def(env.facts, meta).filter(|def| def.map_type == MapType::ProgArray);
    let Some(def) = def else {
        // The kernel does not end this line.
        return Err(Stop::refuse_open_line(errno::EINVAL, CallFault::NotProgArray));
    };
    let key = env.reg(3).const_value().filter(|&key| key < u64::from(def.max_entries));
    if key.is_some() { env.mark_chain_precision(3) } else { Ok(()) }
}

/// Whether the helper accepts maps of that type.
pub(crate) fn check_map_func_compatibility(facts: &Facts<'_>, meta: &CallMeta) -> Check {
    let Some(def) = map_def(facts, meta) else { return Ok(()) };
    let target = match &facts.prog.attach {
        AttachTarget::Kernel { name, .. } | AttachTarget::Unresolved(name) => name.as_str(),
        AttachTarget::None | AttachTarget::Function(_) => "",
    };
    let hook = HookKey {
        prog_type: facts.prog.prog_type,
        attach_type: facts.prog.expected_attach_type,
        target,
    };
    let rules = facts.rules();
    let map_func_compatible = |map, func, hook| map_func_compatible(map, func, hook, rules);
    if !map_func_compatible(def.map_type, meta.func, &hook) {
        let (ty, name) = (def.map_type.number(), meta.name());
        let sockmap = def.map_type.holds_sockets();
        let changes = matches!(meta.func, HelperId::MapUpdateElem | HelperId::MapDeleteElem);
        if sockmap && changes {
            reject!(EINVAL, CallFault::SockmapUpdate { ty, name: name.into() });
        }
        reject!(EINVAL, CallFault::MapForHelper { ty, name: name.into() });
    }
    Ok(())
}
