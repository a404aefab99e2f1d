//! The exit insn: of a function, a callback, the program.
//!
//! Kernel: `process_bpf_exit_full`, `prepare_func_exit`, `check_return_code`, `check_resource_leak`
//! (6.18).

use super::mem::region::check_ptr_off_reg;
use super::reg_arg::Operand;
use super::struct_ops::Target;
use crate::check::attach::check_attach_of_result;
use crate::check::fields::check_fields;
use crate::env::{Env, Facts, InsnFlags};
use crate::explore::next::Next;
use crate::log::note::Note;
use crate::rejection::{
    Acquired, Check, FlowFault, KnownRange, Regno, Stop, Unreleased, Word, reject, unsupported,
};
use crate::state::frame::RetRange;
use crate::state::reference::RefKind;
use crate::state::reg::Reg;
use crate::state::reg_type::Base;
use skep_btf::{Kind, TypeId};
use skep_domain::Tnum;
use skep_program::AttachTarget;
use skep_uapi::errno::MAX_ERRNO;
use skep_uapi::{AttachType, ProgType, RetvalRule, retval_rule};

/// Walks an exit insn.
pub(crate) fn check_exit(env: &mut Env<'_>) -> Check<Next> {
    check_fields(env)?;
    let in_main = env.walk.cur.curframe() == 0;
    let returns_locked =
        env.facts.rules().static_calls_under_lock || env.in_rbtree_lock_required_cb();
    let check_lock = in_main || !returns_locked;
    check_resource_leak(env, check_lock, "BPF_EXIT instruction in main prog")?;
    if !in_main {
        return prepare_func_exit(env);
    }
    check_return_code(env, 0)?;
    Ok(Next::PathEnd)
}

/// The kfunc that unwinds all frames, whatever they hold.
pub(crate) const THROW: &str = "bpf_throw";

/// The check of [`check_exit`] for kernels on which an exception counts as the exit of the throwing
/// function.
pub(crate) fn check_exit_of_all(env: &Env<'_>) -> Check {
    const WHAT: Word = "BPF_EXIT instruction in main prog";
    check_reference_leak(env, WHAT)?;
    let in_main = env.walk.cur.curframe() == 0;
    check_resource_leak(env, in_main, WHAT)
}

/// Checks that no reference is held at `what`; with `check_lock`, no lock or critical section
/// either.
pub(crate) fn check_resource_leak(env: &Env<'_>, check_lock: bool, what: Word) -> Check {
    if check_lock && env.walk.cur.refs.active_locks > 0 {
        reject!(EINVAL, FlowFault::EndUnderLock { what });
    }
    if env.walk.cur.curframe() == 0 || what == THROW {
        check_reference_leak(env, what)?;
    }
    if !check_lock {
        return Ok(());
    }
    let region = if env.walk.cur.refs.active_irq_id != 0 {
        "bpf_local_irq_save-ed"
    } else if env.walk.cur.refs.active_rcu_locks > 0 {
        "bpf_rcu_read_lock-ed"
    } else if env.walk.cur.refs.active_preempt_locks > 0 {
        "bpf_preempt_disable-ed"
    } else {
        return Ok(());
    };
    let open = env.walk.cur.refs.active_preempt_locks;
    let are = if open == 1 { " is" } else { "(s) are" };
    reject!(EINVAL, FlowFault::EndInRegion { what, region, open, are })
}

fn check_reference_leak(env: &Env<'_>, what: Word) -> Check {
    let returned = match env.facts.prog.prog_type {
        ProgType::StructOps => env.reg(0).ref_obj_id,
        _ => 0,
    };
    let acquired = env.walk.cur.refs.acquired.iter();
    let lingering = acquired.filter(|r| r.kind == RefKind::Ptr && r.id != returned);
    let lingering: Vec<_> =
        lingering.map(|r| Acquired { id: r.id, insn_idx: r.insn_idx }).collect();
    if lingering.is_empty() {
        return Ok(());
    }
    reject!(EINVAL, FlowFault::Leak { unreleased: Unreleased(lingering), what })
}

/// The path on which an insn (a tail call, a legacy packet load) ends the function, with `r0` as
/// its result. The path that continues has already been pushed.
pub(crate) fn hidden_exit(env: &mut Env<'_>, r0: Reg) -> Check<Next> {
    env.set_reg(0, r0);
    match prepare_func_exit(env)? {
        Next::Returned(next) => Ok(Next::Insn(next)),
        next => Ok(next),
    }
}

/// Returns to the caller or, from a callback, to the call that runs it.
fn prepare_func_exit(env: &mut Env<'_>) -> Check<Next> {
    env.update_live_stack();
    let callee = env.walk.frame().meta;
    let r0 = env.reg(0);
    if r0.ty.is(Base::Stack) {
        reject!(EINVAL, FlowFault::ReturnsStack);
    }
    if callee.in_callback_fn {
        if !r0.is_scalar() {
            reject!(EACCES, FlowFault::CallbackResult { regno: Regno(0) });
        }
        if env.facts.rules().callback_results_precise {
            env.note_read(0);
            env.mark_chain_precision(0)?;
        }
        let range = callee.callback_ret_range;
        if !is_within(range, &r0, false) {
            return refuse_scalar(&r0, 0, range, "At callback return");
        }
        let marked = env.learned.aux[callee.callsite as usize].has(InsnFlags::CALLS_CALLBACK);
        if !marked && env.facts.rules().callbacks_converge {
            return Err(Stop::bug(format!("callsite {} calls no callback", callee.callsite)));
        }
    } else {
        let caller = env.walk.cur.frames.len() - 2;
        let name = env.walk.cur.frame().name(0);
        env.walk.cur.frames[caller].set_name(0, name);
        env.store.pass_result(caller);
    }
    let again = callee.in_callback_fn && env.facts.rules().callbacks_converge;
    let next = callee.callsite as u32 + u32::from(!again);
    if env.trace.log.traces() {
        env.trace.note(Note::ReturningFrom);
        env.print_frame(callee.frameno);
        env.trace.note(Note::ReturningTo { next });
        env.print_frame(callee.frameno - 1);
    }
    if let Some(frame) = env.walk.cur.frames.pop() {
        env.store.arena.drop_frame(frame);
    }
    if again && let Some(prev) = env.find_prev_entry_of_current(next) {
        env.widen_current(prev);
    }
    Ok(Next::Returned(next))
}

/// Checks what the program, or the function verified on its own, returns in register `regno`.
pub(crate) fn check_return_code(env: &mut Env<'_>, regno: u8) -> Check {
    let entry = env.walk.cur.frames[0].meta;
    let is_subprog = entry.subprogno != 0;
    let prog_type = env.facts.prog.prog_type;
    if (!is_subprog || entry.in_exception_callback_fn) && returns_void(env.facts)? {
        return Ok(());
    }
    let mut returned_type = None;
    if prog_type == ProgType::StructOps && !is_subprog {
        returned_type = returned_struct(env.facts)?;
        let reg = env.reg(regno);
        let same = reg.ty.base == Base::BtfId && Some(reg.btf_id()) == returned_type;
        if same && reg.ref_obj_id != 0 {
            return check_ptr_off_reg(&reg, regno, false);
        }
    }
    // Register 1 is what is thrown: the result of the program, wherever that happens.
    let is_result = !is_subprog || regno == 1 && env.facts.rules().thrown_in_functions_is_result;
    if !is_result && env.learned.subprogs[entry.subprogno as usize].returns_void {
        return Ok(());
    }
    env.check_reg_arg(regno, Operand::Src)?;
    let reg = env.reg(regno);
    if env.is_pointer_value(regno) {
        reject!(EACCES, FlowFault::ResultLeaksAddr { regno: Regno(regno) });
    }
    if entry.in_async_callback_fn {
        let range = entry.callback_ret_range;
        let allowed = ResultRange { range, is_32bit: false };
        return enforce(env, &reg, regno, allowed, "At async callback return");
    }
    if !is_result && !entry.in_exception_callback_fn {
        if !reg.is_scalar() {
            reject!(EINVAL, FlowFault::SubprogResult { regno: Regno(regno), ty: reg.ty });
        }
        return Ok(());
    }
    check_attach_of_result(env.facts)?;
    let wide = |min, max| ResultRange { range: RetRange { min, max }, is_32bit: false };
    let allowed = match retval_rule(prog_type, env.facts.prog.expected_attach_type) {
        _ if prog_type == ProgType::StructOps && returned_type.is_some() => wide(0, 0),
        // A raw tracepoint program with a target is checked like a tracing program.
        RetvalRule::Any if prog_type == ProgType::RawTracepoint && env.facts.is_replacement() => {
            wide(0, 0)
        }
        RetvalRule::Any => return Ok(()),
        RetvalRule::Range(_)
            if match env.facts.prog.attach_type() {
                Some(AttachType::TraceKprobeSession) => !env.facts.rules().sessions_bounded,
                Some(AttachType::TraceUprobeSession) => !env.facts.rules().user_sessions_bounded,
                _ => false,
            } =>
        {
            return Ok(());
        }
        RetvalRule::Range(range) if range.max == 3 && env.facts.cannot_pass_port() => {
            wide(range.min, 1)
        }
        RetvalRule::Range(range) => wide(range.min, range.max),
        RetvalRule::Target if prog_type == ProgType::Lsm => match lsm_range(env.facts) {
            Some(range) => range,
            None => return Ok(()),
        },
        RetvalRule::Target => return Ok(()),
    };
    enforce(env, &reg, regno, allowed, "At program exit").map_err(|stop| {
        if !changes_nothing(env.facts) {
            return stop;
        }
        let stop = env.trace.refused_first(stop);
        env.trace.note(Note::ResultHasNoEffect);
        stop
    })
}

impl Facts<'_> {
    /// Whether the result of a socket-binding program must not allow binding to any port.
    fn cannot_pass_port(&self) -> bool {
        self.prog.prog_type == ProgType::CgroupSockAddr && !self.rules().binds_pass_ports
    }
}

/// Whether this is an LSM program of a cgroup, at a hook without a return value.
fn changes_nothing(facts: &Facts<'_>) -> bool {
    facts.prog.prog_type == ProgType::Lsm
        && facts.prog.attach_type() == Some(AttachType::LsmCgroup)
        && attach_proto(facts).is_some_and(|proto| proto.target_id() == TypeId(0))
}

/// The values that a program may return.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResultRange {
    pub(crate) range: RetRange,
    /// Whether only the low half counts.
    pub(crate) is_32bit: bool,
}

pub(crate) fn enforce(
    env: &mut Env<'_>,
    reg: &Reg,
    regno: u8,
    allowed: ResultRange,
    when: Word,
) -> Check {
    let ResultRange { range, is_32bit } = allowed;
    if !reg.is_scalar() {
        let ty = reg.ty;
        reject!(EINVAL, FlowFault::UnknownResult { when, regno: Regno(regno), ty });
    }
    if env.facts.rules().results_are_precise {
        env.mark_chain_precision(regno)?;
    }
    if !is_within(range, reg, is_32bit) {
        return refuse_scalar(reg, regno, range, when);
    }
    Ok(())
}

/// Kernel: `retval_range_within` (6.18).
pub(crate) fn is_within(range: RetRange, reg: &Reg, is_32bit: bool) -> bool {
    let (min, max) = (i64::from(range.min), i64::from(range.max));
    let v = &reg.val;
    if is_32bit {
        return i64::from(v.s32_min) >= min && i64::from(v.s32_max) <= max;
    }
    v.smin >= min && v.smax <= max
}

/// Kernel: `verbose_invalid_scalar` (6.18).
pub(crate) fn refuse_scalar<T>(reg: &Reg, regno: u8, range: RetRange, when: Word) -> Check<T> {
    let known = KnownRange {
        smin: Some(reg.val.smin).filter(|&smin| smin > i64::MIN),
        smax: Some(reg.val.smax).filter(|&smax| smax < i64::MAX),
    };
    let (RetRange { min, max }, regno) = (range, Regno(regno));
    // Some kernels print the known bits instead of the bounds.
    let both = |bits: Tnum| format!("({:#x}; {:#x})", bits.value, bits.mask);
    let bits = match reg.val.var_off {
        Tnum::UNKNOWN => "unknown scalar value".into(),
        bits => format!("value {}", both(bits)).into(),
    };
    let allowed = both(Tnum::range(min as u64, max as u64)).into();
    reject!(EINVAL, FlowFault::ResultRange { when, regno, known, min, max, bits, allowed })
}

/// The prototype of the function that the program is attached to.
fn attach_proto<'a>(facts: &Facts<'a>) -> Option<skep_btf::Type<'a>> {
    let AttachTarget::Kernel { btf_id, .. } = &facts.prog.attach else { return None };
    let btf = facts.prog.kernel_btf.as_deref()?;
    let func = btf.get(TypeId(*btf_id))?;
    (func.kind() == Kind::Func).then(|| func.target())
}

/// Whether the program replaces or traces a function that returns void, so that r0 does not matter.
fn returns_void(facts: &Facts<'_>) -> Check<bool> {
    match facts.prog.prog_type {
        ProgType::Lsm if facts.prog.attach_type() == Some(AttachType::LsmCgroup) => Ok(false),
        ProgType::Lsm => match attach_proto(facts) {
            Some(proto) => Ok(proto.target_id() == TypeId(0)),
            None => unsupported("an LSM program without a hook in the kernel's BTF"),
        },
        ProgType::StructOps => match Target::of(facts) {
            Some(target) => Ok(target.proto.target_id() == TypeId(0)),
            None => unsupported("a struct_ops program without its member in the kernel's BTF"),
        },
        _ => Ok(false),
    }
}

/// The struct to which a struct_ops program returns a pointer.
fn returned_struct(facts: &Facts<'_>) -> Check<Option<u32>> {
    let Some(Target { proto, .. }) = Target::of(facts) else { return Ok(None) };
    let btf = proto.btf();
    let ptr = btf.skip_modifiers(proto.target_id());
    if ptr.kind() != Kind::Ptr {
        return Ok(None);
    }
    Ok(Some(btf.skip_modifiers(ptr.target_id()).id().0))
}

/// The return values allowed for an LSM program; `None` for any.
pub(super) fn lsm_range(facts: &Facts<'_>) -> Option<ResultRange> {
    let proto = attach_proto(facts)?;
    if facts.prog.attach_type() == Some(AttachType::LsmCgroup) {
        let min = i32::from(proto.target_id() == TypeId(0));
        return Some(ResultRange { range: RetRange { min, max: 1 }, is_32bit: false });
    }
    if !facts.rules().lsm_results_bounded {
        return None;
    }
    let AttachTarget::Kernel { name, .. } = &facts.prog.attach else { return None };
    let name = name.strip_prefix("bpf_lsm_").unwrap_or(name);
    let is_bool = matches!(name, "audit_rule_known" | "inode_xattr_skipcap");
    let range =
        if is_bool { RetRange { min: 0, max: 1 } } else { RetRange { min: -MAX_ERRNO, max: 0 } };
    Some(ResultRange { range, is_32bit: true })
}
