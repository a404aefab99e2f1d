//! Dynptr arguments of helpers; `check/kfunc/dynptr.rs` describes dynptrs.
//!
//! Kernel: the dynptr parts of `check_func_arg` and `check_helper_call` (6.18).

use super::meta::CallMeta;
use crate::check::kfunc::dynptr::DynptrArg;
use crate::env::Env;
use crate::rejection::{CallFault, Check, Regno, Stop, reject, unsupported};
use crate::state::reg::{DynptrKind, Reg};
use crate::state::reg_type::{Base, TypeFlag};
use crate::state::stack::SlotType;
use skep_uapi::helper::{ArgBase, HelperId};

/// A dynptr argument that the call initializes or uses.
pub(crate) fn process_dynptr(env: &mut Env<'_>, regno: u8, flags: TypeFlag) -> Check {
    env.process_dynptr_func(DynptrArg { regno, flags, clone_ref_obj_id: 0 })
}

/// Checks that a released dynptr was acquired.
pub(crate) fn check_release(env: &mut Env<'_>, reg: &Reg, regno: u8) -> Check {
    if !reg.ty.is(Base::Stack) {
        reject!(EINVAL, CallFault::ReleaseOfConstDynptr);
    }
    let held = match env.dynptr_at(reg) {
        Ok((_, _, ref_obj_id)) => ref_obj_id != 0,
        Err(stop) => {
            env.trace.refused(&stop.into_refused()?);
            false
        }
    };
    if !held {
        reject!(EINVAL, CallFault::UnacquiredDynptr { regno: Regno(regno) });
    }
    Ok(())
}

/// The dynptr argument of `bpf_dynptr_data` and `bpf_dynptr_write`.
pub(crate) fn check_data_or_write(env: &mut Env<'_>, meta: &mut CallMeta) -> Check {
    let Some(regno) = super::meta::arg_register(meta.proto, ArgBase::Dynptr) else {
        return Err(Stop::bug("no dynptr argument"));
    };
    let reg = env.reg(regno);
    let (kind, id, ref_obj_id) = env.dynptr_at(&reg)?;
    if meta.func == HelperId::DynptrData {
        meta.dynptr_id = id;
        meta.ref_obj_id = ref_obj_id;
        if !env.facts.rules().slices_of_own_dynptr {
            meta.ref_obj_id = owner_at_top(env)?;
        }
    } else if matches!(kind, DynptrKind::Skb | DynptrKind::SkbMeta) {
        meta.changes_data = true;
    }
    Ok(())
}

/// The reference of the dynptr at the top of the main function's stack, to which slices of any
/// dynptr belong on some kernels, or the id of the register spilled there. What was stored over it
/// may have left its id.
fn owner_at_top(env: &Env<'_>) -> Check<u32> {
    let top = env.walk.slot(0, 0);
    let is_untouched = top.types.iter().all(|&byte| byte == SlotType::Invalid);
    match top.types[0] {
        SlotType::Dynptr => Ok(env.spilled(0, 0).ref_obj_id),
        // A constant may have an id that is not known here.
        _ if top.is_full_spill() && !env.spilled(0, 0).is_const() => Ok(env.spilled(0, 0).id),
        _ if is_untouched || env.walk.cur.refs.is_nothing() || !env.walk.top_had_id => Ok(0),
        _ => unsupported("slices while something else is at the top of the stack, on this kernel"),
    }
}
