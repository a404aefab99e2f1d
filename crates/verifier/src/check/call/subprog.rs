//! Calls of functions of the program.
//!
//! Kernel: `check_func_call`, `setup_func_entry` (6.18).

use super::func_contract::{self, Contract};
use super::refs;
use crate::HoleKind;
use crate::check::exit::{THROW, check_resource_leak};
use crate::check::reg_arg::clear_caller_saved_regs;
use crate::env::{Env, Facts};
use crate::explore::next::Next;
use crate::log::note::Note;
use crate::rejection::{CallFault, Check, OtherRule, Stop, reject, unsupported};
use crate::state::arena::PackedReg;
use crate::state::frame::{Frame, FrameMeta};
use crate::state::refs::AWAKE;
use skep_btf::{Kind, TypeId};
use skep_uapi::ProgFlags;
use skep_uapi::limits::MAX_CALL_FRAMES;

/// Walks a call of a function of the program.
pub(crate) fn check_func_call(env: &mut Env<'_>) -> Check<Next> {
    let insn = env.insn();
    let target = (i64::from(env.walk.insn_idx) + i64::from(insn.imm) + 1) as u32;
    let Some(subprog) = env.facts.find_subprog(target) else {
        return Err(Stop::bug(format!("verifier bug: No program starts at insn {target}")));
    };
    let contract = func_contract::check_subprog_call(env, subprog)?;
    if env.facts.subprogs[subprog as usize].is_global {
        check_global_call(env, subprog, contract)?;
        return Ok(Next::Insn(env.walk.insn_idx + 1));
    }
    let caller = env.walk.cur.curframe();
    push_frame(env, subprog, set_callee_args)?;
    let callee = env.walk.cur.frames.pop();
    clear_caller_saved_regs(env);
    env.walk.cur.frames.extend(callee);
    if env.trace.log.traces() {
        env.trace.note(Note::Caller);
        env.print_frame(caller);
        env.trace.note(Note::Callee);
        env.print_frame(caller + 1);
    }
    Ok(Next::Insn(env.facts.subprogs[subprog as usize].start))
}

/// A call of a global function, which is verified on its own for any arguments that match its
/// prototype.
fn check_global_call(env: &mut Env<'_>, subprog: u32, contract: Contract) -> Check {
    let info = &env.facts.subprogs[subprog as usize];
    let name = &info.name;
    if env.walk.cur.refs.active_locks > 0 {
        reject!(EINVAL, CallFault::GlobalUnderLock);
    }
    if !env.facts.rules().global_calls_in_preempt_off {
        if env.walk.cur.refs.active_preempt_locks > 0 {
            reject!(EINVAL, OtherRule::GlobalCallWithPreemptOff);
        }
        if env.walk.cur.refs.active_irq_id != 0 {
            reject!(EINVAL, OtherRule::GlobalCallWithIrqsOff);
        }
    }
    let awake = (!env.walk.cur.meta.in_sleepable).then_some(AWAKE);
    let checked = env.facts.sound || env.facts.rules().sleeping_globals_checked;
    if info.might_sleep
        && checked
        && let Some(section) = env.walk.cur.refs.section().or(awake)
    {
        reject!(EINVAL, CallFault::GlobalMightSleep { name: name.as_str().into(), section });
    }
    if let Contract::Broken(errno, because) = contract {
        let first = first_parameter(env.facts, subprog);
        let yes = |is: bool| if is { "yes" } else { "no" };
        let pointer = yes(first.is_some());
        let without_size = yes(first == Some(Kind::Void));
        let name = name.as_str().into();
        let kind = CallFault::CallerArgs { subprog, name, without_size, pointer };
        return Err(Stop::refuse(errno, kind).because(because));
    }
    if env.trace.log.traces() {
        env.trace.note(Note::AssumedValid { name, subprog });
    }
    if info.might_throw && env.facts.rules().throws_leave_callers {
        check_resource_leak(env, true, THROW)?;
    }
    if info.changes_pkt_data {
        forget_packets(env);
    }
    let may_sleep = env.walk.cur.meta.in_sleepable
        && env.walk.cur.refs.section().is_none()
        && !env.facts.prog.prog_flags.contains(ProgFlags::SLEEPABLE)
        && (env.facts.rules().globals_sleep_like_callers || env.goes_by(HoleKind::SleepingCaller));
    let callee = &mut env.learned.subprogs[subprog as usize];
    callee.called = true;
    callee.called_awake |= may_sleep;
    clear_caller_saved_regs(env);
    if !env.learned.subprogs[subprog as usize].returns_void {
        env.walk.set_name(0, PackedReg::UNKNOWN);
    }
    Ok(())
}

/// The kind of type that a function's first parameter points to, if it is a pointer.
fn first_parameter(facts: &Facts<'_>, subprog: u32) -> Option<Kind> {
    let start = facts.subprogs[subprog as usize].start;
    let row = facts.prog.func_info.iter().find(|row| row.insn_off.0 == start)?;
    let btf = facts.prog.btf.as_deref()?;
    let param = btf.get(TypeId(row.type_id))?.target().params().next()?;
    let ptr = btf.skip_modifiers(param.ty);
    (ptr.kind() == Kind::Ptr).then(|| btf.skip_modifiers(ptr.target_id()).kind())
}

/// Invalidates packet pointers after a call of a function that may change packet data.
fn forget_packets(env: &mut Env<'_>) {
    if env.facts.rules().packets_move_in_calls {
        refs::clear_all_pkt_pointers(env);
    }
}

/// Enters a function: pushes a frame whose registers `set_args` fills from the caller's.
pub(crate) fn push_frame(
    env: &mut Env<'_>,
    subprog: u32,
    set_args: impl FnOnce(&mut Env<'_>, &mut Frame) -> Check,
) -> Check {
    let depth = env.walk.cur.frames.len();
    if depth >= MAX_CALL_FRAMES {
        if env.facts.rules().sixteen_frames {
            return unsupported("more than eight frames, on this kernel");
        }
        reject!(E2BIG, CallFault::TooDeep { depth: depth + 1 });
    }
    let callsite = env.walk.insn_idx;
    let start = env.facts.subprogs[subprog as usize].start;
    let instance = env.learned.live_stack.callee(env.walk.frame().meta.instance, callsite, start);
    let mut callee = env.store.arena.new_frame(FrameMeta {
        callsite: callsite as i32,
        frameno: depth as u32,
        subprogno: subprog,
        instance,
        ..FrameMeta::default()
    });
    env.walk.mark_state_scratched();
    if let Some(reads) = &mut env.store.reads {
        reads.enter(depth);
    }
    set_args(env, &mut callee)?;
    env.walk.cur.frames.push(callee);
    Ok(())
}

/// Copies the arguments R1 to R5.
fn set_callee_args(env: &mut Env<'_>, callee: &mut Frame) -> Check {
    for regno in 1..=5 {
        env.pass_arg(callee, regno, regno);
    }
    Ok(())
}
