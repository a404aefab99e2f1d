//! References: what helpers acquire and release, and the pointers invalidated by a release.
//!
//! Kernel: `acquire_reference`, `release_reference`, `clear_all_pkt_pointers`,
//! `invalidate_non_owning_refs` (6.18).

use super::meta::CallMeta;
use crate::HoleKind;
use crate::check::call::sub_arg::SubArg;
use crate::env::{Env, Facts};
use crate::rejection::{CallFault, Check, reject};
use crate::state::reference::{LockHome, RefKind, Reference};
use crate::state::reg::{Extra, Reg};
use crate::state::reg_type::{Base, TypeFlag};
use skep_uapi::helper::{ArgBase, HelperId};

/// Acquires a reference at this insn; returns its id.
pub(crate) fn acquire_reference(env: &mut Env<'_>) -> u32 {
    let id = env.store.new_id();
    let insn_idx = env.walk.insn_idx;
    env.walk.cur.refs.acquire(Reference { kind: RefKind::Ptr, id, insn_idx, home: LockHome::None });
    id
}

/// Releases a reference and invalidates all pointers derived from it. False if it is not held.
pub(crate) fn release_reference(env: &mut Env<'_>, ref_obj_id: u32) -> bool {
    if !env.walk.cur.refs.release(ref_obj_id) {
        return false;
    }
    let dead = dead_reg(env.facts);
    env.for_each_reg(|reg| {
        let dies = reg.ref_obj_id == ref_obj_id;
        if dies {
            *reg = dead;
        }
        dies
    });
    true
}

/// The value of a register that must not be used any more.
///
/// Kernel: `mark_reg_invalid` (6.18).
pub(crate) fn dead_reg(facts: &Facts<'_>) -> Reg {
    if facts.allow_ptr_leaks { Reg::unknown() } else { Reg::not_init() }
}

/// Releases the argument that the prototype marks as released.
pub(crate) fn release_argument(env: &mut Env<'_>, meta: &CallMeta) -> Check {
    let Some(regno) = meta.release_regno else { return Ok(()) };
    if meta.proto.args[regno as usize - 1].base == ArgBase::Dynptr {
        return env.unmark_stack_slots_dynptr(&env.reg(regno));
    }
    let released = if meta.ref_obj_id == 0 {
        env.reg(regno).is_null()
    } else if meta.func == HelperId::KptrXchg {
        convert_to_rcu(env, meta.ref_obj_id)
    } else {
        release_reference(env, meta.ref_obj_id)
    };
    if !released {
        reject!(EINVAL, CallFault::NotAcquired { name: meta.name().into() });
    }
    Ok(())
}

/// The reference is moved into a map. Pointers to per-CPU objects stay valid until the RCU section
/// ends.
///
/// Kernel: `ref_convert_alloc_rcu_protected` (6.18).
fn convert_to_rcu(env: &mut Env<'_>, ref_obj_id: u32) -> bool {
    if !env.walk.cur.refs.release(ref_obj_id) {
        return false;
    }
    let dead = dead_reg(env.facts);
    let in_rcu = env.walk.cur.refs.active_rcu_locks > 0 || !env.walk.cur.meta.in_sleepable;
    env.for_each_reg(|reg| {
        if reg.ref_obj_id != ref_obj_id {
            return false;
        }
        if in_rcu && reg.ty.has(TypeFlag::MEM_ALLOC | TypeFlag::MEM_PERCPU) {
            reg.ref_obj_id = 0;
            reg.ty = reg.ty.without(TypeFlag::MEM_ALLOC).with(TypeFlag::MEM_RCU);
        } else {
            *reg = dead;
        }
        true
    });
    true
}

/// Invalidates pointers into the packet, whose data may have moved.
pub(crate) fn clear_all_pkt_pointers(env: &mut Env<'_>) {
    const SLICES: TypeFlag = TypeFlag::DYNPTR_TYPE_SKB
        .union(TypeFlag::DYNPTR_TYPE_XDP)
        .union(TypeFlag::DYNPTR_TYPE_SKB_META);
    let dead = dead_reg(env.facts);
    // A dynptr argument of a global function may refer to the packet, which the type of its slices
    // does not say.
    let args = &env.learned.subprogs[env.walk.subprogno_walked as usize].args;
    let takes_dynptr = args.as_ref().is_some_and(|args| args.contains(&SubArg::Dynptr));
    let all_slices = takes_dynptr && env.goes_by(HoleKind::PacketSlice);
    env.for_each_reg(|reg| {
        let in_packet = reg.ty.is_packet() || reg.ty.is(Base::PacketEnd);
        let of_dynptr = matches!(reg.extra, Extra::Mem { dynptr_id: 1.., .. });
        let slice = reg.ty.base == Base::Mem
            && (reg.ty.flags.intersects(SLICES) || all_slices && of_dynptr);
        if in_packet || slice {
            *reg = dead;
        }
        in_packet || slice
    });
}

/// Invalidates non-owning pointers to objects in a tree or list: they are valid only while its lock
/// is held.
pub(crate) fn invalidate_non_owning_refs(env: &mut Env<'_>) {
    let dead = dead_reg(env.facts);
    env.for_each_reg(|reg| {
        let dies = reg.ty.has(TypeFlag::NON_OWN_REF);
        if dies {
            *reg = dead;
        }
        dies
    });
}

/// Whether the result must be released: so say the prototype or, for a lookup, the map.
pub(crate) fn acquires(facts: &Facts<'_>, meta: &CallMeta) -> bool {
    let def = || meta.map.and_then(|m| facts.maps.get(m.map as usize)).map(|v| v.def);
    let looks_up = meta.func == HelperId::MapLookupElem;
    meta.proto.acquires() || looks_up && def().is_some_and(|d| d.map_type.holds_sockets())
}
