//! Locks: acquiring and releasing `bpf_spin_lock` and `bpf_res_spin_lock`.
//!
//! A lock is identified by the id of the pointer to its map value or object and by the map or
//! object; the pointer must point exactly to the lock.
//!
//! Kernel: `process_spin_lock` (6.18).

use super::refs::invalidate_non_owning_refs;
use crate::HoleKind;
use crate::check::mem::btf_trust::in_rcu_cs;
use crate::env::{Env, Facts, Walk};
use crate::rejection::{CallFault, Check, Regno, Stop, reject, unsupported};
use crate::state::reference::{LockHome, RefKind, Reference};
use crate::state::reg::Reg;
use crate::state::reg_type::{Base, TypeFlag};
use skep_btf::FieldKind;

/// What a call does to a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LockCall {
    pub(crate) takes: bool,
    /// `Lock`, `ResLock` or `ResLockIrq`.
    pub(crate) kind: RefKind,
}

impl LockCall {
    fn is_res(self) -> bool {
        self.kind != RefKind::Lock
    }
    /// `bpf_spin` or `bpf_res_spin`: the beginning of messages.
    fn name(self) -> &'static str {
        if self.is_res() { "bpf_res_spin" } else { "bpf_spin" }
    }
    fn field(self) -> FieldKind {
        if self.is_res() { FieldKind::ResSpinLock } else { FieldKind::SpinLock }
    }
}

/// Acquires or releases the lock that register `regno` points to.
pub(crate) fn process_spin_lock(env: &mut Env<'_>, call: LockCall, regno: u8) -> Check {
    let reg = env.reg(regno);
    let is_object = reg.ty.base == Base::BtfId && reg.ty.has(TypeFlag::MEM_ALLOC);
    let home = match reg.map().filter(|_| reg.ty.base == Base::MapValue) {
        Some(map) => LockHome::Map(map),
        None if is_object => LockHome::Btf(0),
        None => return unsupported("locks in neither map values nor allocated objects"),
    };
    check_lock_field(env.facts, &reg, regno, call)?;
    if call.takes {
        take(&mut env.walk, reg.id, call, home)
    } else {
        give_back(env, reg.id, call, home)
    }
}

/// Checks that the pointer points exactly to the lock.
fn check_lock_field(facts: &Facts<'_>, reg: &Reg, regno: u8, call: LockCall) -> Check {
    let name = call.name();
    if !reg.val.is_const() {
        reject!(EINVAL, CallFault::LockVariable { regno: Regno(regno), name });
    }
    let what = match reg.map().filter(|_| reg.ty.base == Base::MapValue) {
        None => "local 'kptr'".to_string(),
        Some(map) => {
            let Some(view) = facts.maps.get(map as usize) else {
                return Err(Stop::bug("lock in no map"));
            };
            let has_btf = view.def.btf_value_type_id != 0;
            let map = facts.map_name(map);
            if facts.prog.btf.is_none() || !has_btf {
                reject!(EINVAL, CallFault::LockWithoutBtf { map: map.into(), name });
            }
            format!("map '{map}'")
        }
    };
    let lock = facts.fields_of(reg).iter().find(|f| f.kind == call.field()).map(|f| f.offset);
    let Some(want) = lock else {
        reject!(EINVAL, CallFault::NoLock { what: what.into(), name });
    };
    let off = (reg.val.var_off.value as i64).wrapping_add(i64::from(reg.off));
    if i64::from(want) != off {
        reject!(EINVAL, CallFault::NotTheLock { off, name, want });
    }
    Ok(())
}

fn take(walk: &mut Walk, id: u32, call: LockCall, home: LockHome) -> Check {
    let held = |kind: fn(RefKind) -> bool| {
        walk.cur.refs.acquired.iter().any(|r| kind(r.kind) && (r.id, r.home) == (id, home))
    };
    if call.is_res() {
        if held(|kind| matches!(kind, RefKind::ResLock | RefKind::ResLockIrq)) {
            reject!(EINVAL, CallFault::LockedTwice);
        }
    } else if walk.cur.refs.acquired.iter().any(|r| r.kind == RefKind::Lock) {
        reject!(EINVAL, CallFault::TwoLocks);
    }
    let insn_idx = walk.insn_idx;
    let refs = &mut walk.cur.refs;
    refs.acquire(Reference { kind: call.kind, id, insn_idx, home });
    refs.active_locks += 1;
    refs.active_lock_id = id;
    refs.active_lock_home = home;
    Ok(())
}

fn give_back(env: &mut Env<'_>, id: u32, call: LockCall, home: LockHome) -> Check {
    let name = call.name();
    let is_none = id == 0 && env.facts.rules().locks_need_ids;
    if env.walk.cur.refs.active_locks == 0 || is_none {
        reject!(EINVAL, CallFault::NotLocked { name });
    }
    let is_it = |r: &Reference| r.kind == call.kind && r.id == id && r.home == home;
    let Some(at) = env.walk.cur.refs.acquired.iter().position(is_it) else {
        reject!(EINVAL, CallFault::OtherLock { name });
    };
    let refs = &mut env.walk.cur.refs;
    if refs.active_lock_id != id || refs.active_lock_home != home {
        reject!(EINVAL, CallFault::UnlockOrder { name });
    }
    refs.remove_at(at);
    refs.active_locks -= 1;
    let outer = refs.acquired.iter().take(at).filter(|r| r.kind.is_lock()).last().copied();
    refs.active_lock_id = outer.map_or(0, |r| r.id);
    refs.active_lock_home = outer.map_or(LockHome::None, |r| r.home);
    // What is borrowed is gone, even if RCU protected it, unless that ends first.
    let ends = env.facts.rules().locks_end_protection
        || !in_rcu_cs(env) && env.goes_by(HoleKind::EndedSection);
    let first = env.facts.rules().borrowing_outlived;
    if ends && first {
        env.end_protection();
    }
    invalidate_non_owning_refs(env);
    if ends && !first {
        env.end_protection();
    }
    Ok(())
}
