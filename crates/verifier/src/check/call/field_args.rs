//! Pointers to special fields of map values: timers, kptrs.
//!
//! Kernel: `process_timer_func`, `process_kptr_func`, `map_kptr_match_type` (6.18).

use super::meta::{CallMeta, MapArg};
use crate::check::mem::kptr::{kptr_pointee, map_kptr_match_type};
use crate::check::mem::map_value::map_def;
use crate::env::Env;
use crate::rejection::{CallFault, Check, Regno, Stop, reject};
use crate::state::reg::Reg;
use crate::state::reg_type::Base;
use skep_btf::{FieldKind, SpecialField};
use skep_uapi::errno;

/// Checks a pointer to the timer of a map value.
pub(crate) fn process_timer(env: &Env<'_>, meta: &mut CallMeta, regno: u8) -> Check {
    let reg = env.reg(regno);
    let Some(map) = reg.map() else {
        return Err(Stop::bug("map value without map"));
    };
    if !reg.val.is_const() {
        reject!(EINVAL, CallFault::TimerVariable { regno: Regno(regno) });
    }
    let Some(view) = env.facts.maps.get(map as usize) else {
        return Err(Stop::bug("map value of no map"));
    };
    let name = env.facts.map_name(map);
    if env.facts.prog.btf.is_none() || view.def.btf_value_type_id == 0 {
        reject!(EINVAL, CallFault::TimerWithoutBtf { name: name.into() });
    }
    let Some(timer) = view.fields.iter().find(|f| f.kind == FieldKind::Timer) else {
        reject!(EINVAL, CallFault::NoTimer { name: name.into() });
    };
    let want = timer.offset;
    let off = (reg.val.var_off.value as i64).wrapping_add(i64::from(reg.off));
    if i64::from(want) != off {
        reject!(EINVAL, CallFault::NotTheTimer { off, want });
    }
    meta.map = Some(MapArg { map, uid: reg.map_uid() });
    Ok(())
}

/// Checks the kptr field that `bpf_kptr_xchg` changes.
pub(crate) fn process_kptr_dest(env: &Env<'_>, meta: &mut CallMeta, regno: u8) -> Check {
    let reg = env.reg(regno);
    if reg.ty.base == Base::MapValue {
        let def = map_def(env.facts, &reg)?;
        let name = reg.map().map_or("", |map| env.facts.map_name(map));
        if env.facts.prog.btf.is_none() || def.btf_value_type_id == 0 {
            reject!(EINVAL, CallFault::KptrWithoutBtf { name: name.into() });
        }
        meta.map = reg.map().map(|map| MapArg { map, uid: 0 });
    }
    if !reg.val.is_const() {
        reject!(EINVAL, CallFault::KptrVariable { regno: Regno(regno) });
    }
    let off = (reg.val.var_off.value as i64).wrapping_add(i64::from(reg.off));
    let is_kptr = |f: &&SpecialField| f.kind.is_pointer() && f.kind != FieldKind::Uptr;
    let mut kptrs = env.facts.fields_of(&reg).iter().filter(is_kptr).peekable();
    if kptrs.peek().is_none() {
        let map = reg.map().map_or("", |map| env.facts.map_name(map)).into();
        reject!(EINVAL, CallFault::NoKptr { regno: Regno(regno), map });
    }
    let Some(field) = kptrs.find(|f| i64::from(f.offset) == off).cloned() else {
        reject!(EACCES, CallFault::NotTheKptr { off });
    };
    if !matches!(field.kind, FieldKind::KptrRef | FieldKind::KptrPercpu) {
        reject!(EACCES, CallFault::KptrUnreferenced { off });
    }
    let pointee = kptr_pointee(env.facts, &field)?;
    meta.kptr_field = Some((field, pointee));
    Ok(())
}

/// Checks that the pointer may be stored in the field.
pub(crate) fn check_kptr_match(env: &mut Env<'_>, meta: &CallMeta, reg: &Reg, regno: u8) -> Check {
    let Some((field, _)) = &meta.kptr_field else {
        return Err(Stop::bug("bpf_kptr_xchg without field"));
    };
    map_kptr_match_type(env, field, reg, regno).map_err(|stop| stop.with_errno(errno::EACCES))
}
