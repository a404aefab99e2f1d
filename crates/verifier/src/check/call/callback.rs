//! Callbacks: functions that a helper calls before it returns, or that run later.
//!
//! A callback that runs before the call returns is walked as a branch: its frame is pushed on top
//! of the caller's, and its exit returns to the call. The walk continues after the call as if the
//! callback had not run.
//!
//! Kernel: `push_callback_call`, `push_async_cb`, the `set_*_callback_state` functions (6.18).

use super::func_contract;
use super::meta::CallMeta;
use super::subprog::push_frame;
use crate::HoleKind;
use crate::env::{CallMap, Env, Found, LoopInline};
use crate::log::note::Note;
use crate::rejection::{CallFault, Check, OtherRule, Stop, reject, unsupported};
use crate::state::arena::Arena;
use crate::state::frame::{BPF_MAIN_FUNC, Frame, FrameMeta, RetRange};
use crate::state::reg::{DynptrKind, Extra, Reg};
use crate::state::reg_type::{Base, RegType};
use crate::state::verifier_state::{StateMeta, VerifierState};
use skep_btf::Kind;
use skep_uapi::MapType;
use skep_uapi::limits::BPF_COMPLEXITY_LIMIT_JMP_SEQ;

/// Walks the callback as a branch, with the registers set by `set_args`.
pub(crate) fn push_callback_call(
    env: &mut Env<'_>,
    subprog: u32,
    set_args: impl FnOnce(&mut Env<'_>, &mut Frame) -> Check,
) -> Check {
    func_contract::check_subprog_call(env, subprog)?;
    env.learned.subprogs[subprog as usize].is_cb = true;
    let insn_idx = env.walk.insn_idx;
    if !env.facts.rules().callbacks_converge {
        // On these kernels the callback is walked once, like a called function, and the walk
        // continues from its exit.
        push_frame(env, subprog, set_args)?;
        env.walk.entered = env.walk.cur.frames.pop();
        return Ok(());
    }
    env.walk.cur.meta.callback_unroll_depth += 1;
    env.walk.frame_mut().meta_mut().callback_depth += 1;
    push_frame(env, subprog, set_args)?;
    env.push_stack(env.facts.subprogs[subprog as usize].start, insn_idx, false)?;
    if let Some(frame) = env.walk.cur.frames.pop() {
        env.store.arena.drop_frame(frame);
    }
    env.walk.cur.meta.callback_unroll_depth -= 1;
    env.walk.frame_mut().meta_mut().callback_depth = 0;
    Ok(())
}

/// The callee may return a number from 0 to `max`.
pub(crate) fn in_callback(callee: &mut Frame, max: i32) {
    let meta = callee.meta_mut();
    meta.in_callback_fn = true;
    meta.callback_ret_range = RetRange { min: 0, max };
}

/// `bpf_loop(nr, callback(index, ctx), ctx, flags)`.
pub(super) fn push_loop(env: &mut Env<'_>, meta: &CallMeta) -> Check {
    update_loop_inline(env, meta.subprogno)?;
    if !env.facts.rules().callbacks_converge {
        return push_round(env, meta);
    }
    if !env.reg(1).is_scalar() {
        // If pointer leaks are allowed, the argument may be a pointer, which the kernel does not
        // handle.
        reject!(EFAULT, CallFault::BacktrackMisuse);
    }
    env.mark_chain_precision(1)?;
    let frame = env.walk.frame().meta;
    if u64::from(frame.callback_depth) < env.reg(1).val.umax {
        return push_round(env, meta);
    }
    env.goes_by(HoleKind::LoopRounds);
    env.walk.frame_mut().meta_mut().callback_depth = 0;
    if env.trace.log.traces_all() {
        env.trace.note(Note::LastRound { frame: frame.frameno });
    }
    Ok(())
}

/// Walks one iteration of the loop.
fn push_round(env: &mut Env<'_>, meta: &CallMeta) -> Check {
    push_callback_call(env, meta.subprogno, |env, callee| {
        env.store.arena.set_reg(callee, 1, &Reg::unknown());
        env.pass_arg(callee, 2, 3);
        in_callback(callee, 1);
        Ok(())
    })
}

/// Records whether the loop can be inlined: flags are always 0 and the callback is always the same.
/// Precision of the flags is only requested while that is possible.
fn update_loop_inline(env: &mut Env<'_>, subprogno: u32) -> Check {
    let known = env.aux().loop_inline();
    if known == LoopInline::Differs {
        return Ok(());
    }
    let flag_is_zero = env.reg(4).is_null();
    if flag_is_zero && let Err(stop) = env.mark_chain_precision(4) {
        // The kernel reports its bug and continues: whether the flags are zero has no error.
        env.trace.refused(&stop.into_refused()?);
    }
    let same = known == LoopInline::Unknown || known == LoopInline::Fits(subprogno);
    let fits = if flag_is_zero && same { LoopInline::Fits(subprogno) } else { LoopInline::Differs };
    env.aux_mut().found = Found::LoopInline(fits);
    Ok(())
}

fn map_reg(base: Base, map: u32, uid: u32) -> Reg {
    Reg { extra: Extra::Map { map, uid }, ..Reg::pointer(RegType::of(base)) }
}

/// `bpf_for_each_map_elem(map, callback(map, key, value, ctx), ctx, flags)`.
pub(super) fn push_for_each_map_elem(env: &mut Env<'_>, meta: &CallMeta) -> Check {
    let Some(arg) = meta.map else {
        return Err(Stop::bug("for_each_map_elem without map"));
    };
    if !env.facts.rules().any_map_iterated && env.aux().call_map() == CallMap::Poisoned {
        reject!(EINVAL, OtherRule::CallbackOfSeveralMaps);
    }
    push_callback_call(env, meta.subprogno, |env, callee| {
        let iterable = env.facts.maps.get(arg.map as usize).is_some_and(|m| {
            matches!(
                m.def.map_type,
                MapType::Hash
                    | MapType::Array
                    | MapType::PercpuHash
                    | MapType::PercpuArray
                    | MapType::LruHash
                    | MapType::LruPercpuHash
            )
        });
        if !iterable {
            reject!(ENOTSUPP, CallFault::MapWithoutCallback);
        }
        env.pass_arg(callee, 1, 1);
        let uid = if env.facts.rules().elements_know_maps { arg.uid } else { 0 };
        env.store.arena.set_reg(callee, 2, &map_reg(Base::MapKey, arg.map, uid));
        let mut value = map_reg(Base::MapValue, arg.map, uid);
        if env.facts.may_point_to_spin_lock(&value)
            && (env.facts.rules().elements_are_told_apart || env.goes_by(HoleKind::OtherLock))
        {
            value.id = env.store.new_id();
        }
        env.store.arena.set_reg(callee, 3, &value);
        env.pass_arg(callee, 4, 3);
        in_callback(callee, 1);
        Ok(())
    })
}

/// `bpf_find_vma(task, addr, callback(task, vma, ctx), ctx, flags)`.
pub(super) fn push_find_vma(env: &mut Env<'_>, meta: &CallMeta) -> Check {
    let btf = env.facts.prog.kernel_btf.as_ref();
    let Some(vma) = btf.and_then(|b| b.find_by_name_kind("vm_area_struct", Kind::Struct)) else {
        return unsupported("bpf_find_vma without the kernel's BTF");
    };
    push_callback_call(env, meta.subprogno, |env, callee| {
        env.pass_arg(callee, 1, 1);
        env.store.arena.set_reg(
            callee,
            2,
            &Reg {
                extra: Extra::Btf { id: vma.0, in_prog: false },
                ..Reg::pointer(RegType::of(Base::BtfId))
            },
        );
        env.pass_arg(callee, 3, 4);
        in_callback(callee, 1);
        Ok(())
    })
}

/// `bpf_user_ringbuf_drain(map, callback(dynptr, ctx), ctx, flags)`.
pub(super) fn push_user_ringbuf_drain(env: &mut Env<'_>, meta: &CallMeta) -> Check {
    push_callback_call(env, meta.subprogno, |env, callee| {
        let id = env.store.new_id();
        env.store.arena.set_reg(
            callee,
            1,
            &Reg {
                id,
                extra: Extra::Dynptr { kind: DynptrKind::Local, first_slot: true },
                ..Reg::pointer(RegType::of(Base::ConstDynptr))
            },
        );
        env.pass_arg(callee, 2, 3);
        in_callback(callee, 1);
        Ok(())
    })
}

/// `bpf_timer_set_callback(timer, callback(map, key, value))`: the callback runs later, on its own
/// stack.
pub(super) fn push_timer(env: &mut Env<'_>, meta: &CallMeta) -> Check {
    let reg = env.reg(1);
    let Some(map) = reg.map() else {
        return Err(Stop::bug("timer in no map"));
    };
    let callback = MapCallback { map, in_sleepable: false, any_result: false };
    push_map_callback(env, meta.subprogno, callback)
}

/// A callback of a field of a map value: `callback(map, key, value)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MapCallback {
    pub(crate) map: u32,
    pub(crate) in_sleepable: bool,
    /// Any return value is allowed, not only 0.
    pub(crate) any_result: bool,
}

/// Walks such a callback.
pub(crate) fn push_map_callback(env: &mut Env<'_>, subprog: u32, callback: MapCallback) -> Check {
    let MapCallback { map, in_sleepable, any_result } = callback;
    push_async_callback(env, subprog, in_sleepable, |arena, callee| {
        if any_result {
            callee.meta_mut().callback_ret_range = RetRange { min: i32::MIN, max: i32::MAX };
        }
        arena.set_reg(callee, 1, &map_reg(Base::ConstMapPtr, map, 0));
        arena.set_reg(callee, 2, &map_reg(Base::MapKey, map, 0));
        arena.set_reg(callee, 3, &map_reg(Base::MapValue, map, 0));
    })
}

fn push_async_callback(
    env: &mut Env<'_>,
    subprog: u32,
    in_sleepable: bool,
    set_args: impl FnOnce(&mut Arena, &mut Frame),
) -> Check {
    func_contract::check_subprog_call(env, subprog)?;
    let info = &mut env.learned.subprogs[subprog as usize];
    info.is_cb = true;
    info.is_async_cb = true;
    let start = env.facts.subprogs[subprog as usize].start;
    let instance = env.learned.live_stack.root(start);
    let mut callee = env.store.arena.new_frame(FrameMeta {
        callsite: BPF_MAIN_FUNC,
        subprogno: subprog,
        instance,
        async_entry_cnt: env.walk.cur.frame().meta.async_entry_cnt + 1,
        in_async_callback_fn: true,
        ..FrameMeta::default()
    });
    set_args(&mut env.store.arena, &mut callee);
    env.walk.mark_state_scratched();
    let mut state = VerifierState {
        frames: vec![callee],
        meta: StateMeta { in_sleepable, ..StateMeta::default() },
        ..VerifierState::default()
    };
    let mut packed = state.save(&mut env.store.arena);
    packed.stretch = env.walk.cur.history.empty_stretch();
    for frame in state.frames {
        env.store.arena.drop_frame(frame);
    }
    let waiting = env.store.branches.len() + 1;
    if waiting > BPF_COMPLEXITY_LIMIT_JMP_SEQ as usize {
        reject!(E2BIG, CallFault::TooManyAsync { waiting });
    }
    env.store.new_path_waits();
    env.push_branch(packed, start, env.walk.insn_idx)
}
