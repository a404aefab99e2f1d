//! What a helper returns in R0.
//!
//! Kernel: the end of `check_helper_call`, `do_refine_retval_range` (6.18).

use super::map_args::can_elide_value_nullness;
use super::meta::CallMeta;
use super::refs::{acquire_reference, acquires};
use crate::env::{Env, Facts, Found};
use crate::rejection::{CallFault, Check, Stop, reject, unsupported};
use crate::state::reg::{Extra, Reg};
use crate::state::reg_type::{Base, RegType};
use skep_btf::{FieldKind, Kind, TypeId};
use skep_uapi::errno::MAX_ERRNO;
use skep_uapi::helper::{HelperId, RetBase};
use skep_uapi::{AttachType, MapType, ProgType, TypeFlag};

/// Whether the result of a system call, as a cgroup program sees it, is 0 or an error; for
/// `getsockopt` it may be a length.
pub(crate) fn returns_errors(facts: &Facts<'_>) -> bool {
    facts.prog.prog_type != ProgType::Lsm
        && facts.prog.attach_type() != Some(AttachType::CgroupGetsockopt)
}

/// Sets R0.
pub(crate) fn set_return_value(env: &mut Env<'_>, meta: &CallMeta) -> Check {
    let ret = meta.proto.ret;
    let mut r0 = match ret.base {
        RetBase::Integer => Reg::unknown(),
        RetBase::Void => Reg::not_init(),
        RetBase::MapValue => map_value(env, meta)?,
        RetBase::Socket => Reg::pointer(RegType::of(Base::Socket).with(ret.flags)),
        RetBase::TcpSock => Reg::pointer(RegType::of(Base::TcpSock).with(ret.flags)),
        RetBase::SockCommon => Reg::pointer(RegType::of(Base::SockCommon).with(ret.flags)),
        RetBase::Mem => Reg {
            extra: Extra::Mem { size: meta.mem_size, dynptr_id: 0 },
            ..Reg::pointer(RegType::of(Base::Mem).with(ret.flags))
        },
        RetBase::MemOrBtfId => percpu_variable(env, meta)?,
        RetBase::BtfId => kernel_object(env.facts, meta)?,
    };
    if r0.ty.may_be_null() {
        r0.id = env.store.new_id();
    }
    if meta.func == HelperId::DynptrData {
        r0.extra = Extra::Mem { size: meta.mem_size, dynptr_id: meta.dynptr_id };
        r0.ref_obj_id = meta.ref_obj_id;
    } else if meta.proto.casts() {
        r0.ref_obj_id = meta.ref_obj_id;
    } else if acquires(env.facts, meta) {
        let id = acquire_reference(env);
        r0.id = id;
        r0.ref_obj_id = id;
    }
    refine_range(env, meta, &mut r0)?;
    env.set_reg(0, r0);
    Ok(())
}

fn map_value(env: &mut Env<'_>, meta: &CallMeta) -> Check<Reg> {
    let view = meta.map.and_then(|m| env.facts.maps.get(m.map as usize).map(|view| (m, view)));
    let Some((arg, view)) = view else {
        reject!(EINVAL, CallFault::KernelMisconfigured);
    };
    let mut flags = meta.proto.ret.flags;
    let exists = meta.func == HelperId::MapLookupElem
        && can_elide_value_nullness(env.facts.rules(), view.def)
        && meta.const_map_key.is_some_and(|key| key < u64::from(view.def.max_entries));
    if exists {
        flags -= TypeFlag::PTR_MAYBE_NULL;
    }
    let locked =
        view.fields.iter().any(|f| matches!(f.kind, FieldKind::SpinLock | FieldKind::ResSpinLock));
    if env.facts.rules().inner_maps_looked_up {
        let base = match view.def.map_type {
            MapType::Xskmap => Some(Base::XdpSock),
            map_type if map_type.holds_sockets() => Some(Base::Socket),
            _ => view.inner.map(|_| Base::ConstMapPtr),
        };
        if let Some(base) = base {
            let extra = view.inner.map_or(Extra::None, |map| Extra::Map { map, uid: 0 });
            return Ok(Reg { extra, ..Reg::pointer(RegType::of(base).with(flags)) });
        }
    }
    let mut reg = Reg::pointer(RegType::of(Base::MapValue).with(flags));
    reg.extra = Extra::Map { map: arg.map, uid: arg.uid };
    if !reg.ty.may_be_null() && locked {
        reg.id = env.store.new_id();
    }
    Ok(reg)
}

/// A per-CPU variable of one CPU: an object, or memory.
fn percpu_variable(env: &mut Env<'_>, meta: &CallMeta) -> Check<Reg> {
    if let Some(reg) = meta.percpu.filter(|r| r.ty.has(TypeFlag::MEM_RCU)) {
        // One CPU's copy of a per-CPU object that the program allocated.
        if !matches!(reg.extra, Extra::Btf { in_prog: true, .. }) {
            env.aux_mut().found = Found::KernelMem;
        }
        let ty = RegType::of(Base::BtfId).with(TypeFlag::MEM_ALLOC | TypeFlag::MEM_RCU);
        return Ok(Reg { extra: reg.extra, ..Reg::pointer(ty) });
    }
    env.aux_mut().found = Found::KernelMem;
    let Some(Extra::Btf { id, in_prog: false }) = meta.percpu.map(|r| r.extra) else {
        return unsupported("per-CPU objects that are neither variables nor in an RCU section");
    };
    let Some(btf) = env.facts.prog.kernel_btf.clone() else {
        return Err(Stop::bug("kernel type without the kernel's BTF"));
    };
    let flags = meta.proto.ret.flags;
    let ty = btf.skip_modifiers(TypeId(id));
    if ty.kind().is_composite() {
        let ty = RegType::of(Base::BtfId).with(flags - TypeFlag::MEM_RDONLY);
        return Ok(Reg { extra: Extra::Btf { id, in_prog: false }, ..Reg::pointer(ty) });
    }
    let Ok(size) = btf.size_of(ty.id()) else {
        let name = ty.name();
        reject!(EINVAL, CallFault::NoSizeOfResult { name: name.into() });
    };
    let mut ty = RegType::of(Base::Mem).with(flags);
    if !env.facts.rules().percpu_numbers_read_only {
        ty = ty.without(TypeFlag::MEM_RDONLY);
    }
    Ok(Reg { extra: Extra::Mem { size, dynptr_id: 0 }, ..Reg::pointer(ty) })
}

fn kernel_object(facts: &Facts<'_>, meta: &CallMeta) -> Check<Reg> {
    let ret = meta.proto.ret;
    let mut ty = RegType::of(Base::BtfId).with(ret.flags);
    let (id, in_prog) = match &meta.kptr_field {
        Some((field, pointee)) if meta.func == HelperId::KptrXchg => {
            if pointee.in_prog {
                ty = ty.with(TypeFlag::MEM_ALLOC);
                if field.kind == FieldKind::KptrPercpu {
                    ty = ty.with(TypeFlag::MEM_PERCPU);
                }
            }
            (pointee.id.0, pointee.in_prog)
        }
        _ => {
            let btf = facts.prog.kernel_btf.as_ref();
            let Some(id) = btf.and_then(|b| b.find_by_name_kind(ret.btf, Kind::Struct)) else {
                return unsupported(format!("kernel type {} without the kernel's BTF", ret.btf));
            };
            (id.0, false)
        }
    };
    Ok(Reg { extra: Extra::Btf { id, in_prog }, ..Reg::pointer(ty) })
}

/// Bounds known for some results.
fn refine_range(env: &mut Env<'_>, meta: &CallMeta, r0: &mut Reg) -> Check {
    if meta.proto.ret.base != RetBase::Integer {
        return Ok(());
    }
    match meta.func {
        HelperId::GetTaskStack if !env.facts.rules().task_stack_bounded => return Ok(()),
        HelperId::GetStack
        | HelperId::GetTaskStack
        | HelperId::ProbeReadStr
        | HelperId::ProbeReadKernelStr
        | HelperId::ProbeReadUserStr => {
            r0.val.smax = meta.msize_max as i64;
            r0.val.s32_max = meta.msize_max as i32;
            r0.val.smin = i64::from(-MAX_ERRNO);
            r0.val.s32_min = -MAX_ERRNO;
        }
        HelperId::GetRetval
            if env.facts.rules().set_retval_checked && returns_errors(env.facts) =>
        {
            (r0.val.smin, r0.val.smax) = (i64::from(-MAX_ERRNO), 0);
            (r0.val.s32_min, r0.val.s32_max) = (-MAX_ERRNO, 0);
        }
        HelperId::GetSmpProcessorId if env.facts.rules().cpu_ids_bounded => {
            let last = env.facts.config.nr_cpu_ids.saturating_sub(1);
            r0.val.umax = u64::from(last);
            r0.val.u32_max = last;
            r0.val.smax = i64::from(last);
            r0.val.s32_max = last as i32;
            r0.val.umin = 0;
            r0.val.u32_min = 0;
            r0.val.smin = 0;
            r0.val.s32_min = 0;
        }
        _ => return Ok(()),
    }
    crate::check::scalar_rules::sync(env.facts.rules(), &mut r0.val);
    env.sane_bounds(r0, "retval")
}
