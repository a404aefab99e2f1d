//! Loads and stores through pointers to BTF types: the kernel's, or the program's own.
//!
//! Kernel: `check_ptr_to_btf_access`, `check_ptr_to_map_access`, `btf_struct_access` (6.18).

use super::btf_store::check_store;
use super::btf_trust::{Object, PtrField, field_flags};
use crate::HoleKind;
use crate::check::mem::access::MemAccess;
use crate::env::{Env, Facts, Store};
use crate::rejection::{Check, MemFault, Regno, RejectKind, Stop, reject, unsupported};
use crate::state::reg::{Extra, Reg};
use crate::state::reg_type::{Base, RegType, TypeFlag};
use skep_btf::{Btf, Kind, PtrTag, Type, TypeId, Walk, WalkError, WalkRules};
use skep_uapi::is_gpl_compatible;

/// What is at an offset of a struct.
pub(super) enum Found {
    Scalar,
    /// Memory that probes may read.
    Mem,
    /// A pointer to a struct, with the meaning of its tag.
    Ptr {
        to: TypeId,
        flags: TypeFlag,
        field: String,
    },
}

pub(crate) fn access_btf_ptr(env: &mut Env<'_>, reg: &Reg, at: MemAccess, off: i32) -> Check {
    let Extra::Btf { id, in_prog } = reg.extra else {
        return Err(Stop::bug("BTF pointer without type"));
    };
    let btf = if in_prog { env.facts.prog.btf.clone() } else { env.facts.prog.kernel_btf.clone() };
    let Some(btf) = btf else { return Err(Stop::bug("BTF pointer without BTF")) };
    let struct_id = TypeId(id);
    let object = Object { btf: &btf, id: struct_id, in_prog };
    check_pointer(env.facts, reg, at.regno, off, object)?;
    let is_alloc = reg.ty.has(TypeFlag::MEM_ALLOC);
    if at.is_write() {
        let rules = env.facts.rules();
        let is_untrusted = reg.ty.has(TypeFlag::PTR_UNTRUSTED);
        let is_trusted = reg.is_trusted() || reg.ty.has(TypeFlag::MEM_RCU);
        if is_untrusted && (is_alloc || rules.untrusted_stores_refused)
            || !is_alloc && !is_trusted && rules.stores_need_trust
        {
            reject!(EACCES, MemFault::ObjectReadOnly);
        }
        if !is_alloc {
            let stored = check_store(env.facts, &btf, struct_id, off, at.size);
            let name = btf.get(struct_id).map_or("", |ty| ty.name());
            return stored.map_err(|stop| refused_store(stop, name, at, off));
        }
    }
    let is_good = reg.ty.flags.intersects(TypeFlag::NON_OWN_REF | TypeFlag::MEM_RCU);
    let probed = env.facts.rules().ended_objects_read && reg.ty.has(TypeFlag::PTR_UNTRUSTED);
    if is_alloc && !is_good && !probed && reg.ref_obj_id == 0 {
        // What was read in an RCU section that has ended.
        reject!(EFAULT, MemFault::ObjectUnreferenced);
    }
    if is_alloc {
        refuse_special_fields(object, off, at.size)?;
    }
    if is_alloc
        && let Err(beyond) = refuse_beyond(&btf, struct_id, off, at.size)
        && (env.facts.rules().allocated_arrays_end || env.goes_by(HoleKind::BeyondAllocated))
    {
        return Err(beyond);
    }
    let found = walk(env, object, off, at.size)?;
    let Some(value) = at.value_regno.filter(|_| !at.is_write()) else { return Ok(()) };
    let loaded = match found {
        Found::Ptr { .. } if is_alloc => Reg::unknown(),
        Found::Scalar => Reg::unknown(),
        Found::Mem => untrusted_mem(),
        Found::Ptr { to, flags, field } => {
            let flags = field_flags(env, reg, object, PtrField { to, tag: flags, name: &field });
            pointer_to(&mut env.store, to, in_prog, flags)
        }
    };
    env.set_reg(value, loaded);
    Ok(())
}

/// Adds the line that some kernels print when the program type does not permit a store.
#[cold]
fn refused_store(stop: Stop, name: &str, at: MemAccess, off: i32) -> Stop {
    let read_only = RejectKind::Mem(MemFault::ObjectReadOnly);
    if stop.as_refused().is_some_and(|refused| refused.kind == read_only) {
        return stop;
    }
    let (regno, name, size) = (Regno(at.regno), name.into(), at.size);
    stop.led_to(MemFault::StoreRefused { regno, name, off, size })
}

fn pointer_to(store: &mut Store, to: TypeId, in_prog: bool, flags: TypeFlag) -> Reg {
    let id = if flags.contains(TypeFlag::PTR_MAYBE_NULL) { store.new_id() } else { 0 };
    Reg {
        id,
        extra: Extra::Btf { id: to.0, in_prog },
        ..Reg::pointer(RegType::of(Base::BtfId).with(flags))
    }
}

fn untrusted_mem() -> Reg {
    let flags = TypeFlag::MEM_RDONLY.union(TypeFlag::PTR_UNTRUSTED);
    Reg {
        extra: Extra::Mem { size: 0, dynptr_id: 0 },
        ..Reg::pointer(RegType::of(Base::Mem).with(flags))
    }
}

/// Checks on the pointer itself.
fn check_pointer(facts: &Facts<'_>, reg: &Reg, regno: u8, off: i32, object: Object<'_>) -> Check {
    let Object { btf, id, in_prog } = object;
    let name = btf.get(id).map_or("", |t| t.name());
    if !facts.allow_ptr_leaks {
        reject!(EPERM, MemFault::NeedsPerfmon { name: name.into() });
    }
    if !in_prog && facts.rules().objects_need_gpl && !is_gpl_compatible(&facts.prog.license) {
        reject!(EINVAL, MemFault::ObjectNeedsGpl { name: name.into() });
    }
    if off < 0 {
        reject!(EACCES, MemFault::BeforeObject { regno: Regno(regno), name: name.into(), off });
    }
    let var = reg.val.var_off;
    if !var.is_const() || var.value != 0 {
        reject!(
            EACCES,
            MemFault::VariableObject { regno: Regno(regno), name: name.into(), off, var }
        );
    }
    for (flag, what) in [(TypeFlag::MEM_USER, "user"), (TypeFlag::MEM_PERCPU, "percpu")] {
        if reg.ty.has(flag) {
            reject!(
                EACCES,
                MemFault::TaggedObject { regno: Regno(regno), name: name.into(), what, off }
            );
        }
    }
    Ok(())
}

/// Refuses loads and stores to fields of allocated objects that the kernel manages.
fn refuse_special_fields(object: Object<'_>, off: i32, size: i32) -> Check {
    let mut fields = object.btf.struct_metas().get(&object.id).into_iter().flatten();
    let hit = fields.find(|f| {
        i64::from(off) < i64::from(f.offset) + i64::from(f.size)
            && i64::from(f.offset) < i64::from(off) + i64::from(size)
    });
    if let Some(field) = hit {
        let name = super::map_value::field_type_name(field.kind);
        reject!(EACCES, MemFault::OpaqueObject { name: name.into() });
    }
    Ok(())
}

/// Refuses an access that ends beyond the object: its last array has no elements.
fn refuse_beyond(btf: &Btf, id: TypeId, off: i32, size: i32) -> Check {
    let ty = btf.ty(id);
    let end = i64::from(off) + i64::from(size);
    if ty.stated_size().is_none_or(|bytes| end <= bytes.into()) {
        return Ok(());
    }
    let why = format!("access beyond struct {} at off {off} size {size}", ty.name());
    reject!(EACCES, MemFault::UnfitField { why: WalkError::Unfit(why) })
}

/// Whether an access that ends at `end` is in a trailing array of integers.
fn is_in_last_numbers(ty: Type<'_>, end: i64) -> bool {
    let array = ty.members().last().and_then(|last| ty.btf().skip_modifiers(last.ty).array());
    let of_numbers = array.is_some_and(|it| ty.btf().skip_modifiers(it.elem).kind() == Kind::Int);
    of_numbers && ty.stated_size().is_some_and(|bytes| end > bytes.into())
}

fn walk(env: &Env<'_>, object: Object<'_>, off: i32, size: i32) -> Check<Found> {
    let Object { btf, id, .. } = object;
    let rules = env.facts.rules();
    let walk_rules = WalkRules {
        unions_run_on: rules.unions_run_on,
        flexible_arrays_untrusted: rules.flexible_arrays_untrusted,
        flexible_arrays_run_on: rules.flexible_arrays_run_on,
    };
    let end = i64::from(off) + i64::from(size);
    let is_beyond = || btf.get(id).is_some_and(|ty| is_in_last_numbers(ty, end));
    match btf.struct_access_by(walk_rules, id, off as u32, size as u32) {
        Err(why @ WalkError::NoField(_)) => reject!(EINVAL, MemFault::NoField { why }),
        Err(why) => reject!(EACCES, MemFault::UnfitField { why }),
        Ok(Walk::Scalar) if !env.facts.rules().numbers_at_the_end && is_beyond() => {
            let name = btf.get(id).map_or("", |ty| ty.name());
            let why = format!("access beyond struct {name} at off {off} size {size}");
            reject!(EACCES, MemFault::UnfitField { why: WalkError::Unfit(why) })
        }
        Ok(Walk::Scalar | Walk::Struct { .. }) => Ok(Found::Scalar),
        Ok(Walk::Mem { .. }) if !env.facts.rules().void_fields_read => Ok(Found::Scalar),
        Ok(Walk::Mem { .. }) => Ok(Found::Mem),
        Ok(Walk::Ptr { to, tag, untrusted, field }) => {
            let mut flags = match tag {
                Some(PtrTag::User) => TypeFlag::MEM_USER,
                Some(PtrTag::Percpu) => TypeFlag::MEM_PERCPU,
                Some(PtrTag::Rcu) => TypeFlag::MEM_RCU,
                None => TypeFlag::empty(),
            };
            if untrusted {
                flags |= TypeFlag::PTR_UNTRUSTED;
            }
            Ok(Found::Ptr { to, flags, field: field.to_string() })
        }
    }
}

/// A load through a map pointer, from the kernel's struct.
pub(super) fn access_map_ptr(env: &mut Env<'_>, reg: &Reg, at: MemAccess, off: i32) -> Check {
    let def = super::map_value::map_def(env.facts, reg)?;
    let Some(btf) = env.facts.prog.kernel_btf.clone() else {
        return unsupported("loads through map pointers, without the kernel's BTF");
    };
    let name = def.map_type.kernel_struct();
    let Some(id) = btf.find_by_name_kind(name, Kind::Struct) else {
        let number = def.map_type.number();
        reject!(ENOTSUPP, MemFault::OpaqueMap { number });
    };
    if !env.facts.allow_ptr_leaks {
        reject!(EPERM, MemFault::NeedsPerfmon { name: name.into() });
    }
    if off < 0 {
        let regno = at.regno;
        reject!(EACCES, MemFault::BeforeMap { regno: Regno(regno), name: name.into(), off });
    }
    if at.is_write() {
        reject!(EACCES, MemFault::MapReadOnly { name: name.into() });
    }
    let found = walk(env, Object { btf: &btf, id, in_prog: false }, off, at.size)?;
    let Some(value) = at.value_regno else { return Ok(()) };
    let loaded = match found {
        Found::Scalar => Reg::unknown(),
        Found::Mem => untrusted_mem(),
        Found::Ptr { to, flags, .. } => pointer_to(&mut env.store, to, false, flags),
    };
    env.set_reg(value, loaded);
    Ok(())
}
