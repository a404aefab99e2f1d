//! Calls of kernel functions: which programs may call which, their arguments, and their results.
//!
//! Kernel: `check_kfunc_call` and what it calls (6.18).

pub(crate) mod arg_kind;
mod args;
pub(crate) mod callee;
mod critical;
mod ctx_type;
pub(crate) mod dynptr;
mod graph;
mod irq_flag;
mod iter;
mod meta;
mod more_args;
mod ret;
mod slots;
mod trust;

use super::call::callback::{self, MapCallback};
use super::call::refs;
use super::exit::{THROW, check_exit_of_all, check_resource_leak, check_return_code};
use crate::env::{Env, InsnFlags, Walk};
use crate::explore::next::Next;
use crate::rejection::{Check, KfuncFault, Stop, reject, unsupported};
use crate::state::arena::PackedReg;
use crate::state::reg::Reg;
use callee::{Callee, Special};
use meta::Meta;
use skep_insn::InsnNames;
use skep_uapi::errno::MAX_ERRNO;
use skep_uapi::kfunc::KfuncFlags;
use std::num::NonZeroU32;

/// Walks a call of a kfunc.
pub(crate) fn check_kfunc_call(env: &mut Env<'_>) -> Check<Next> {
    let insn = env.insn();
    let next = Next::Insn(env.walk.insn_idx + 1);
    if insn.imm == 0 {
        return Ok(next);
    }
    let callee = find_callee(env)?;
    let is_iter_next = callee.has(KfuncFlags::ITER_NEXT);
    env.aux_mut().flags.set(InsnFlags::ITER_NEXT, is_iter_next);
    if matches!(callee.special, Special::ResSpinLock | Special::ResSpinLockIrqsave) {
        env.push_failed_lock()?;
    } else if callee.special == Special::Trap {
        reject!(EFAULT, KfuncFault::Trap);
    }
    if callee.has(KfuncFlags::SLEEPABLE) && !env.walk.cur.meta.in_sleepable {
        let name = callee.name;
        reject!(EACCES, KfuncFault::NeedsSleepable { name: name.into() });
    }
    let mut meta = Meta::new(callee);
    if callee.special == Special::RefcountAcquire && env.facts.rules().refcounts_disabled {
        reject!(EINVAL, KfuncFault::RefcountsDisabled);
    }
    env.check_kfunc_args(&mut meta)?;
    env.run_callback(&meta)?;
    if callee.special == Special::SessionCookie {
        meta.r0_size = NonZeroU32::new(8);
        meta.r0_rdonly = false;
    }
    env.check_sections(&meta)?;
    env.release_argument(&meta)?;
    if callee.special.inserts() {
        env.give_node_away(&meta)?;
    }
    if callee.special == Special::Throw {
        if env.facts.rules().no_exceptions {
            let (name, id) = (callee.name.into(), insn.imm);
            reject!(ENOTSUPP, KfuncFault::NoExceptions { name, id });
        }
        env.learned.seen_exception = true;
        if env.facts.exception_cb.is_none() {
            check_return_code(env, 1)?;
        }
        clear_caller_saved_regs(&mut env.walk);
        match env.facts.rules().throw_leaves_all {
            true => check_resource_leak(env, true, THROW)?,
            false => check_exit_of_all(env)?,
        }
        env.throw_exits_scc()?;
        return Ok(Next::PathEnd);
    }
    clear_caller_saved_regs(&mut env.walk);
    for regno in 1..=meta.callee.proto.params().count() {
        env.note_read(regno as u8);
    }
    env.note_write(0);
    env.set_kfunc_return(&meta)?;
    if callee.special == Special::XdpPullData {
        refs::clear_all_pkt_pointers(env);
    }
    if let Some(at) = meta.iter.filter(|_| is_iter_next) {
        env.process_iter_next_call(at)?;
    }
    Ok(next)
}

/// The kfunc, if the program may call it.
fn find_callee<'a>(env: &Env<'a>) -> Check<Callee<'a>> {
    let insn = env.insn();
    let Some(callee) = env.facts.callable.kfuncs.get(&insn) else {
        let name = env.facts.callable.kfunc_name(insn).unwrap_or("of a module").to_string();
        return unsupported(format!("kfunc {name}"));
    };
    let name = callee.name;
    if callee.row.is_none() && callee.is_tagged() {
        return unsupported(format!("kfunc {name}"));
    }
    if !callee.allowed {
        reject!(EACCES, KfuncFault::NotAllowed { name: name.into() });
    }
    Ok(callee)
}

fn clear_caller_saved_regs(walk: &mut Walk) {
    for regno in 0..6 {
        walk.set_name(regno, PackedReg::NOT_INIT);
    }
}

impl Env<'_> {
    /// Acquiring the lock may fail: pushes a branch with an errno and without the lock.
    fn push_failed_lock(&mut self) -> Check {
        let saved: [Reg; 6] = std::array::from_fn(|i| self.reg(i as u8));
        let scratched = self.walk.scratched_regs;
        let mut errno = Reg::unknown();
        (errno.val.s32_min, errno.val.s32_max) = (-MAX_ERRNO, -1);
        (errno.val.smin, errno.val.smax) = (i64::from(-MAX_ERRNO), -1);
        super::scalar_rules::sync(self.facts.rules(), &mut errno.val);
        self.sane_bounds(&mut errno, "s32_range")?;
        clear_caller_saved_regs(&mut self.walk);
        self.set_reg(0, errno);
        self.push_stack(self.walk.insn_idx + 1, self.walk.insn_idx, false)?;
        for (i, reg) in saved.into_iter().enumerate() {
            self.set_reg(i as u8, reg);
        }
        self.walk.scratched_regs = scratched;
        Ok(())
    }

    fn run_callback(&mut self, meta: &Meta<'_>) -> Check {
        match meta.callee.special {
            Special::RbtreeAdd => {
                let Some(root) = meta.graph_root.clone() else {
                    return Err(Stop::bug("rbtree_add without root"));
                };
                callback::push_callback_call(self, meta.subprogno, |env, frame| {
                    for regno in 1..=2 {
                        let mut node = graph::graph_node(&root);
                        env.ref_set_non_owning(&mut node)?;
                        env.store.arena.set_reg(frame, regno, &node);
                    }
                    callback::in_callback(frame, 1);
                    Ok(())
                })
            }
            Special::WqSetCallback | Special::TaskWorkSchedule => {
                let (regno, any) = match meta.callee.special {
                    Special::WqSetCallback => (1, false),
                    _ => (3, true),
                };
                let Some(map) = self.reg(regno).map() else {
                    return Err(Stop::bug("work queue in no map"));
                };
                callback::push_map_callback(
                    self,
                    meta.subprogno,
                    MapCallback { map, in_sleepable: true, any_result: any },
                )
            }
            _ => Ok(()),
        }
    }

    /// Releases the argument that carries a reference, if the kfunc releases one.
    fn release_argument(&mut self, meta: &Meta<'_>) -> Check {
        let Some(regno) = meta.release_regno else { return Ok(()) };
        let reg = self.reg(regno);
        if meta.dynptr.is_some_and(|d| d.ref_obj_id != 0) {
            return self.unmark_stack_slots_dynptr(&reg);
        }
        if !refs::release_reference(self, reg.ref_obj_id) {
            let name = meta.name();
            reject!(EINVAL, KfuncFault::NotAcquired { name: name.into() });
        }
        Ok(())
    }
}
