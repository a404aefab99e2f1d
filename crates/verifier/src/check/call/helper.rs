//! Calls of helpers.
//!
//! Kernel: `check_helper_call` (6.18).

use super::callback;
use super::meta::CallMeta;
use super::{format, helper_args, map_args, refs, retval};
use crate::HoleKind;
use crate::check::exit::{ResultRange, check_resource_leak, enforce, hidden_exit};
use crate::check::jmp::mark_ptr_not_null;
use crate::check::mem::access::{AccessType, MemAccess};
use crate::check::mem::check_mem_access;
use crate::check::mem::stack_write::fill_with_data;
use crate::check::reg_arg::clear_caller_saved_regs;
use crate::env::{Env, Facts, InsnFlags, Walk};
use crate::explore::next::Next;
use crate::log::note::Note;
use crate::rejection::{CallFault, Check, FuncFault, Regno, reject, unsupported};
use crate::state::frame::{Frame, RetRange};
use crate::state::refs::AWAKE;
use crate::state::reg::Reg;
use crate::state::reg_type::Base;
use skep_uapi::errno::MAX_ERRNO;
use skep_uapi::helper::{HelperId, HelperProto, HelperUse, func_id_name};
use skep_uapi::is_gpl_compatible;
use skep_uapi::{AttachType, ProgType, helper_changes_pkt_data};

/// Walks a call of a helper.
pub(crate) fn check_helper_call(env: &mut Env<'_>) -> Check<Next> {
    let proto = find_proto(env)?;
    let might_sleep = env.facts.callable.might_sleep(proto);
    if might_sleep {
        check_may_sleep(&env.walk, proto)?;
    }
    let mut meta = CallMeta::new(proto);
    meta.changes_data = helper_changes_pkt_data(proto.id);
    if might_sleep {
        check_sections(&env.walk, proto)?;
    }
    for arg in 0..proto.args.len() {
        helper_args::check_func_arg(env, &mut meta, arg)?;
    }
    map_args::record_func_map(env, &meta)?;
    map_args::record_func_key(env, &meta)?;
    fill_raw_stack(env, &meta)?;
    refs::release_argument(env, &meta)?;
    check_func_specific(env, &mut meta)?;
    clear_caller_saved_regs(env);
    retval::set_return_value(env, &meta)?;
    map_args::check_map_func_compatibility(env.facts, &meta)?;
    if meta.changes_data {
        refs::clear_all_pkt_pointers(env);
    }
    if meta.func != HelperId::TailCall && !env.aux().has(InsnFlags::CALLS_CALLBACK) {
        env.walk.frame_mut().chains.make(0);
    }
    if let Some(callee) = env.walk.entered.take() {
        return Ok(enter_callback(env, callee));
    }
    let next = env.walk.insn_idx + 1;
    if env.facts.rules().casts_branch && meta.proto.casts() && meta.ref_obj_id != 0 {
        branch_on_null(env, next)?;
    }
    if meta.func == HelperId::TailCall && !env.facts.rules().tail_calls_end_function {
        if env.facts.rules().tail_calls_move_packets {
            refs::clear_all_pkt_pointers(env);
        }
        return Ok(Next::Insn(next));
    }
    if meta.func != HelperId::TailCall || env.walk.cur.curframe() == 0 {
        return Ok(Next::Insn(next));
    }
    if !env.facts.rules().tail_calls_may_leave {
        env.goes_by(HoleKind::LeftByTailCall);
    }
    // A tail call that succeeds returns to the caller of the function.
    env.push_stack(next, env.walk.insn_idx, false)?;
    if env.facts.rules().packets_move_in_calls {
        refs::clear_all_pkt_pointers(env);
    }
    hidden_exit(env, Reg::unknown())
}

/// The result is not NULL on this path, and 0 on a branch of its own.
#[cold]
fn branch_on_null(env: &mut Env<'_>, next: u32) -> Check {
    let mut result = env.reg(0);
    env.set_reg(0, Reg::constant(0));
    env.push_stack(next, env.walk.insn_idx, false)?;
    mark_ptr_not_null(env.facts, &mut result);
    env.set_reg(0, result);
    Ok(())
}

/// Enters a callback that is walked like a called function.
#[cold]
fn enter_callback(env: &mut Env<'_>, callee: Frame) -> Next {
    let start = env.facts.subprogs[callee.meta.subprogno as usize].start;
    env.walk.cur.frames.push(callee);
    if env.trace.log.traces() {
        let frameno = env.walk.cur.curframe();
        env.trace.note(Note::Caller);
        env.print_frame(frameno - 1);
        env.trace.note(Note::Callee);
        env.print_frame(frameno);
    }
    Next::Insn(start)
}

/// The prototype, if this program may call the helper.
fn find_proto(env: &Env<'_>) -> Check<&'static HelperProto> {
    let imm = env.insn().imm;
    let number = imm as u32;
    let name = func_id_name(number);
    if HelperId::from_number(number).is_none() {
        reject!(EINVAL, CallFault::NoSuchHelper { name: name.into(), imm });
    }
    if number >= env.facts.config.profile.helpers_end {
        reject!(EINVAL, CallFault::NoSuchHelper { name: "unknown".into(), imm });
    }
    if env.facts.callable.helpers.is_none() {
        return unsupported(format!(
            "helpers of {} programs of this kind",
            env.facts.prog.prog_type
        ));
    }
    let (proto, probe) = match env.facts.callable.helper_use(imm) {
        HelperUse::May(proto) => (proto, false),
        HelperUse::NotAllowedInProbe(proto) => (proto, true),
        HelperUse::CannotUse => {
            reject!(EINVAL, CallFault::HelperNotForType { name: name.into(), imm })
        }
    };
    if proto.gpl_only() && !is_gpl_compatible(&env.facts.prog.license) {
        reject!(EINVAL, CallFault::HelperNeedsGpl);
    }
    if probe {
        reject!(EINVAL, CallFault::HelperNotInProbe);
    }
    Ok(proto)
}

fn check_may_sleep(walk: &Walk, proto: &HelperProto) -> Check {
    if !walk.cur.meta.in_sleepable {
        let helper = format!("{}#{}", proto.id.name(), proto.id.number()).into();
        let section = walk.cur.refs.section().unwrap_or(AWAKE);
        reject!(EINVAL, CallFault::HelperMightSleep { helper, section });
    }
    Ok(())
}

/// Refuses helpers that may sleep in sections where that is not allowed.
fn check_sections(walk: &Walk, proto: &HelperProto) -> Check {
    let Some(section) = walk.cur.refs.section() else { return Ok(()) };
    let (name, id) = (proto.id.name(), proto.id.number());
    reject!(EINVAL, CallFault::HelperSleepsIn { name: name.into(), id, section })
}

/// Marks memory that the helper fills as unknown data.
fn fill_raw_stack(env: &mut Env<'_>, meta: &CallMeta) -> Check {
    let Some(raw) = meta.raw else { return Ok(()) };
    let ptr = env.reg(raw.regno);
    if fill_with_data(env, &ptr, raw.access_size) {
        return Ok(());
    }
    for off in 0..raw.access_size {
        check_mem_access(
            env,
            MemAccess {
                regno: raw.regno,
                off,
                size: 1,
                ty: AccessType::Write,
                value_regno: None,
                strict_alignment_once: false,
                is_ldsx: false,
            },
        )?;
    }
    Ok(())
}

/// Rules and effects of individual helpers.
fn check_func_specific(env: &mut Env<'_>, meta: &mut CallMeta) -> Check {
    match meta.func {
        HelperId::TailCall
            if env.walk.frame().meta.in_callback_fn
                && env.facts.rules().no_tail_calls_in_callbacks =>
        {
            reject!(EINVAL, FuncFault::TailCallInCallback)
        }
        HelperId::TailCall => check_resource_leak(env, true, "tail_call"),
        HelperId::GetLocalStorage => {
            if !env.reg(2).is_null() {
                reject!(EINVAL, CallFault::StorageFlags);
            }
            Ok(())
        }
        HelperId::ForEachMapElem => callback::push_for_each_map_elem(env, meta),
        HelperId::TimerSetCallback => callback::push_timer(env, meta),
        HelperId::FindVma => callback::push_find_vma(env, meta),
        HelperId::Loop => callback::push_loop(env, meta),
        HelperId::UserRingbufDrain => callback::push_user_ringbuf_drain(env, meta),
        HelperId::Snprintf => format::check_snprintf(env),
        HelperId::DynptrFromMem => {
            let ty = env.reg(1).ty;
            if !ty.is(Base::MapValue) {
                reject!(EACCES, CallFault::DynptrFromMemType { ty });
            }
            Ok(())
        }
        HelperId::SetRetval => check_set_retval(env),
        HelperId::GetFuncIp => check_get_func_ip(env.facts),
        HelperId::DynptrData | HelperId::DynptrWrite => {
            super::dynptr::check_data_or_write(env, meta)
        }
        _ => Ok(()),
    }
}

/// Kernel: `check_get_func_ip` (6.18).
fn check_get_func_ip(facts: &Facts<'_>) -> Check {
    let trampoline = matches!(
        facts.prog.attach_type(),
        Some(AttachType::TraceFentry | AttachType::TraceFexit | AttachType::ModifyReturn)
    );
    let name = "bpf_get_func_ip#173";
    match facts.prog.prog_type {
        ProgType::Kprobe => Ok(()),
        ProgType::Tracing if trampoline => Ok(()),
        ProgType::Tracing => {
            reject!(ENOTSUPP, CallFault::TracingOnly { name: name.into() })
        }
        other => {
            let number = other.number();
            reject!(ENOTSUPP, CallFault::NotForProgType { name: name.into(), number })
        }
    }
}

/// Results that a cgroup program may give to a system call.
const ERRORS: ResultRange =
    ResultRange { range: RetRange { min: -MAX_ERRNO, max: 0 }, is_32bit: true };

fn check_set_retval(env: &mut Env<'_>) -> Check {
    let lsm_cgroup = env.facts.prog.prog_type == ProgType::Lsm
        && env.facts.prog.attach_type() == Some(AttachType::LsmCgroup);
    if lsm_cgroup {
        return unsupported("bpf_set_retval in LSM programs of cgroups");
    }
    if !env.facts.rules().set_retval_checked {
        return Ok(());
    }
    let reg = env.reg(1);
    if !reg.is_scalar() {
        reject!(EINVAL, FuncFault::ArgNotScalar { regno: Regno(1) });
    }
    if !retval::returns_errors(env.facts) {
        return Ok(());
    }
    enforce(env, &reg, 1, ERRORS, "At bpf_set_retval")
}
