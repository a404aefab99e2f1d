//! Pointers to special fields of map values: timers, kptrs.
//!
//! Kernel: `process_timer_func`, `process_kptr_func`, `map_kptr_match_type` (6.18).

use super::arg_type::struct_ids_match;
use super::meta::{CallMeta, MapArg};
use crate::env::Env;
use crate::log::{reject, verbose};
use crate::rejection::{Check, Stop, errno, unsupported};
use crate::state::reg::{Extra, Reg};
use crate::state::reg_type::{Base, TypeFlag as F};
use skep_btf::{FieldKind, Kind, SpecialField, TypeId};

/// A pointer to the timer of a map value.
pub(crate) fn process_timer(env: &mut Env<'_>, meta: &mut CallMeta, regno: u8) -> Check {
    let reg = *env.reg(regno);
    let Some(map) = reg.map() else {
        return Err(Stop::Bug("map value without map".to_string()));
    };
    if !reg.val.is_const() {
        reject!(
            env,
            EINVAL,
            "R{regno} doesn't have constant offset. bpf_timer has to be at the constant offset"
        );
    }
    let Some(view) = env.maps.get(map as usize) else {
        return Err(Stop::Bug("map value of no map".to_string()));
    };
    let name = view.def.kernel_name();
    if env.prog.btf.is_none() || view.def.btf_value_type_id == 0 {
        reject!(env, EINVAL, "map '{name}' has to have BTF in order to use bpf_timer");
    }
    let Some(timer) = view.fields.iter().find(|f| f.kind == FieldKind::Timer) else {
        reject!(env, EINVAL, "map '{name}' has no valid bpf_timer");
    };
    let want = timer.offset;
    let off = (reg.val.var_off.value as i64).wrapping_add(i64::from(reg.off));
    if i64::from(want) != off {
        reject!(env, EINVAL, "off {off} doesn't point to 'struct bpf_timer' that is at {want}");
    }
    meta.map = Some(MapArg { map, uid: reg.map_uid() });
    Ok(())
}

/// The kptr field that `bpf_kptr_xchg` changes.
pub(crate) fn process_kptr_dest(env: &mut Env<'_>, meta: &mut CallMeta, regno: u8) -> Check {
    let reg = *env.reg(regno);
    let Some(map) = reg.map().filter(|_| reg.ty.base == Base::MapValue) else {
        return unsupported("kptrs in objects that the program allocated");
    };
    let Some(view) = env.maps.get(map as usize) else {
        return Err(Stop::Bug("map value of no map".to_string()));
    };
    let name = view.def.kernel_name();
    if env.prog.btf.is_none() || view.def.btf_value_type_id == 0 {
        reject!(env, EINVAL, "map '{name}' has to have BTF in order to use bpf_kptr_xchg");
    }
    if !view.fields.iter().any(|f| f.kind.is_pointer()) {
        reject!(env, EINVAL, "R{regno} has no valid kptr");
    }
    if !reg.val.is_const() {
        reject!(
            env,
            EINVAL,
            "R{regno} doesn't have constant offset. kptr has to be at the constant offset"
        );
    }
    meta.map = Some(MapArg { map, uid: 0 });
    let off = (reg.val.var_off.value as i64).wrapping_add(i64::from(reg.off));
    let field = view.fields.iter().find(|f| i64::from(f.offset) == off && f.kind.is_pointer());
    let Some(field) = field.cloned() else {
        reject!(env, EACCES, "off={off} doesn't point to kptr");
    };
    if !matches!(field.kind, FieldKind::KptrRef | FieldKind::KptrPercpu) {
        reject!(env, EACCES, "off={off} kptr isn't referenced kptr");
    }
    let in_prog = kernel_target(env, &field)?.is_none();
    meta.kptr_field = Some((field, in_prog));
    Ok(())
}

/// The kernel's type of that name and kind; `None` if it is the program's own.
fn kernel_target(env: &Env<'_>, field: &SpecialField) -> Check<Option<TypeId>> {
    let (Some(target), Some(btf)) = (field.target, env.prog.btf.as_ref()) else {
        return Err(Stop::Bug("kptr without type".to_string()));
    };
    let Some(kernel) = env.prog.kernel_btf.as_ref() else {
        return unsupported("kptrs without the kernel's BTF");
    };
    let ty = btf.ty(target);
    Ok(kernel.find_by_name_kind(ty.name(), Kind::Struct))
}

/// BTF id that a pointer loaded from the field has.
pub(crate) fn kptr_target(env: &Env<'_>, field: &SpecialField) -> Check<u32> {
    match kernel_target(env, field)? {
        Some(id) => Ok(id.0),
        None => Ok(field.target.map_or(0, |id| id.0)),
    }
}

/// Checks that the pointer may be stored in the field.
pub(crate) fn check_kptr_match(env: &mut Env<'_>, meta: &CallMeta, reg: &Reg, regno: u8) -> Check {
    let Some((field, in_prog)) = &meta.kptr_field else {
        return Err(Stop::Bug("bpf_kptr_xchg without field".to_string()));
    };
    if *in_prog || reg.ty.has(F::MEM_ALLOC) {
        return unsupported("kptrs to objects that the program allocated");
    }
    let want = TypeId(kptr_target(env, field)?);
    let Some(kernel) = env.prog.kernel_btf.clone() else {
        return unsupported("kptrs without the kernel's BTF");
    };
    let Extra::Btf { id, in_prog: false } = reg.extra else {
        return unsupported("kptrs to objects that the program allocated");
    };
    if reg.off != 0 {
        let (off, ty) = (reg.off, reg.ty);
        if off < 0 {
            reject!(env, EACCES, "negative offset {ty} ptr R{regno} off={off} disallowed");
        }
    }
    if struct_ids_match(&kernel, (TypeId(id), reg.off), want, true) {
        return Ok(());
    }
    let name = kernel.ty(want).name();
    let (got, got_name) = (reg.ty, kernel.ty(TypeId(id)).name());
    verbose!(env, "invalid kptr access, R{regno} type={got}{got_name} ");
    let text = format!("expected=ptr_{name}");
    Err(env.refuse(errno::EACCES, text))
}
