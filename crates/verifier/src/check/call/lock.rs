//! `bpf_spin_lock` and `bpf_spin_unlock`.
//!
//! Kernel: `process_spin_lock` (6.18).

use super::refs::invalidate_non_owning_refs;
use crate::env::Env;
use crate::log::reject;
use crate::rejection::{Check, Stop, unsupported};
use crate::state::refs::{LockHome, RefKind, Reference};
use crate::state::reg::Reg;
use crate::state::reg_type::Base;
use skep_btf::FieldKind;
use skep_uapi::helper::HelperId;

/// Takes or gives back the lock in what register `regno` points to.
pub(crate) fn process_spin_lock(env: &mut Env<'_>, func: HelperId, regno: u8) -> Check {
    let reg = *env.reg(regno);
    let Some(map) = reg.map().filter(|_| reg.ty.base == Base::MapValue) else {
        return unsupported("locks in objects that the program allocated");
    };
    check_lock_field(env, &reg, regno, map)?;
    let home = LockHome::Map(map);
    if func == HelperId::SpinLock {
        return take(env, reg.id, home);
    }
    give_back(env, reg.id, home)
}

/// The pointer must point exactly to the lock.
fn check_lock_field(env: &mut Env<'_>, reg: &Reg, regno: u8, map: u32) -> Check {
    if !reg.val.is_const() {
        reject!(
            env,
            EINVAL,
            "R{regno} doesn't have constant offset. bpf_spin_lock has to be at the constant offset"
        );
    }
    let Some(view) = env.maps.get(map as usize) else {
        return Err(Stop::Bug("lock in no map".to_string()));
    };
    let name = view.def.kernel_name();
    if env.prog.btf.is_none() || view.def.btf_value_type_id == 0 {
        reject!(env, EINVAL, "map '{name}' has to have BTF in order to use bpf_spin_lock");
    }
    let Some(lock) = view.fields.iter().find(|f| f.kind == FieldKind::SpinLock) else {
        reject!(env, EINVAL, "map '{name}' has no valid bpf_spin_lock");
    };
    let want = lock.offset;
    let off = (reg.val.var_off.value as i64).wrapping_add(i64::from(reg.off));
    if i64::from(want) != off {
        reject!(env, EINVAL, "off {off} doesn't point to 'struct bpf_spin_lock' that is at {want}");
    }
    Ok(())
}

fn take(env: &mut Env<'_>, id: u32, home: LockHome) -> Check {
    if env.cur.refs.acquired.iter().any(|r| r.kind == RefKind::Lock) {
        reject!(env, EINVAL, "Locking two bpf_spin_locks are not allowed");
    }
    let insn_idx = env.insn_idx;
    let refs = &mut env.cur.refs;
    refs.acquire(Reference { kind: RefKind::Lock, id, insn_idx, home });
    refs.active_locks += 1;
    refs.active_lock_id = id;
    refs.active_lock_home = home;
    Ok(())
}

fn give_back(env: &mut Env<'_>, id: u32, home: LockHome) -> Check {
    if env.cur.refs.active_locks == 0 {
        reject!(env, EINVAL, "bpf_spin_unlock without taking a lock");
    }
    let is_it = |r: &Reference| r.kind == RefKind::Lock && r.id == id && r.home == home;
    let Some(at) = env.cur.refs.acquired.iter().position(is_it) else {
        reject!(env, EINVAL, "bpf_spin_unlock of different lock");
    };
    let refs = &mut env.cur.refs;
    if refs.active_lock_id != id || refs.active_lock_home != home {
        reject!(env, EINVAL, "bpf_spin_unlock cannot be out of order");
    }
    refs.remove_at(at);
    refs.active_locks -= 1;
    let outer = refs.acquired.iter().rev().find(|r| r.kind.is_lock()).copied();
    refs.active_lock_id = outer.map_or(0, |r| r.id);
    refs.active_lock_home = outer.map_or(LockHome::None, |r| r.home);
    invalidate_non_owning_refs(env);
    Ok(())
}
