//! The attach target of a program, as far as it is known at load time.
//!
//! Kernel: `bpf_prog_load_check_attach`, `check_attach_btf_id`, `bpf_check_attach_target`,
//! `bpf_iter_prog_supported`, `can_be_sleepable` (6.18).

use super::attach_target::check_trampoline_target;
use super::replaced::check_replaced;
use super::struct_ops::check_struct_ops_btf_id;
use crate::env::Facts;
use crate::rejection::{AttachFault, Check, Stop, errno, reject, unsupported};
use skep_btf::{Kind, Type, TypeId};
use skep_program::AttachTarget;
use skep_uapi::{AttachType, BTF_MAX_TYPE, ProgFlags, ProgType, attach_types, attaches_to_btf};

/// How typedefs of tracepoints begin.
const TRACEPOINT_PREFIX: &str = "btf_trace_";
/// How functions of iterators begin.
const ITER_PREFIX: &str = "bpf_iter_";

/// What is refused of type and target of a program before its insns are looked at; the kernel says
/// no more than `EINVAL`.
pub(crate) fn check_attach_types(facts: &Facts<'_>) -> Check {
    let (prog_type, number) = (facts.prog.prog_type, facts.prog.expected_attach_type);
    let refused = |kind: AttachFault| Err(Stop::refuse_silently(errno::EINVAL, kind));
    if prog_type == ProgType::Unspec {
        return refused(AttachFault::NoProgType);
    }
    match attach_btf_id(facts) {
        0 => {}
        id if id > BTF_MAX_TYPE => {
            return refused(AttachFault::IdTooLarge { id });
        }
        id if !attaches_to_btf(prog_type) => {
            return refused(AttachFault::IdNotForType { id, prog_type });
        }
        _ => {}
    }
    if !attach_types(prog_type).contains(number) {
        return refused(AttachFault::AttachType { number, prog_type });
    }
    Ok(())
}

/// The type of the kernel that the program names; 0 for none.
fn attach_btf_id(facts: &Facts<'_>) -> u32 {
    match &facts.prog.attach {
        AttachTarget::Kernel { btf_id, .. } => *btf_id,
        _ => 0,
    }
}

/// Checks that programs of this kind may sleep if the program says so, what struct_ops programs
/// implement, and whether there is such a thing as what tracing programs trace.
pub(crate) fn check_attach_btf_id(facts: &Facts<'_>) -> Check {
    let sleepable = facts.prog.prog_flags.contains(ProgFlags::SLEEPABLE);
    if facts.prog.prog_type == ProgType::Syscall && !facts.is_replacement() {
        if !sleepable {
            reject!(EINVAL, AttachFault::NotSleepable);
        }
        return Ok(());
    }
    if sleepable && !can_be_sleepable(facts) {
        // Nobody asked whether those that change what they see may sleep.
        let is_writable = facts.prog.prog_type == ProgType::RawTracepointWritable;
        if facts.rules().tracepoints_sleep && is_writable {
            return unsupported("writable tracepoints that sleep, on this kernel");
        }
        reject!(EINVAL, AttachFault::Sleepable);
    }
    if let AttachTarget::Function(target) = &facts.prog.attach {
        return check_replaced(facts, target);
    }
    match facts.prog.prog_type {
        ProgType::StructOps => check_struct_ops_btf_id(facts),
        ProgType::Tracing | ProgType::Lsm => check_attach_target(facts),
        _ => Ok(()),
    }
}

/// Tracepoints whose programs may sleep: of 901 that Linux 7.1 and 7.3 have, those of system calls.
const FAULTABLE: [&str; 2] = ["sys_enter", "sys_exit"];

fn can_be_sleepable(facts: &Facts<'_>) -> bool {
    if facts.is_replacement() {
        return false;
    }
    match facts.prog.prog_type {
        ProgType::Tracing => {
            matches!(
                facts.prog.attach_type(),
                Some(
                    AttachType::TraceFentry
                        | AttachType::TraceFexit
                        | AttachType::ModifyReturn
                        | AttachType::TraceIter
                )
            ) || facts.rules().tracing_sleeps
                || (facts.rules().tracepoints_sleep
                    && facts.prog.attach_type() == Some(AttachType::TraceRawTp))
        }
        ProgType::Tracepoint | ProgType::RawTracepoint => facts.rules().tracepoints_sleep,
        ProgType::Kprobe => facts.rules().kprobes_sleep,
        ProgType::Lsm => true,
        ProgType::StructOps => !facts.rules().struct_ops_awake,
        _ => false,
    }
}

fn check_attach_target(facts: &Facts<'_>) -> Check {
    let id = attach_btf_id(facts);
    let named = matches!(facts.prog.attach, AttachTarget::Unresolved(_));
    if id == 0 && !named {
        reject!(EINVAL, AttachFault::NoBtfId);
    }
    let Some(btf) = facts.prog.kernel_btf.as_deref().filter(|_| !named) else { return Ok(()) };
    let Some(target) = btf.get(TypeId(id)) else {
        reject!(EINVAL, AttachFault::InvalidId { id });
    };
    let name = target.name();
    let possible = match facts.prog.attach_type() {
        Some(AttachType::TraceRawTp) => {
            if target.kind() != Kind::Typedef {
                reject!(EINVAL, AttachFault::NotTypedef { id });
            }
            let Some(tracepoint) = name.strip_prefix(TRACEPOINT_PREFIX) else {
                reject!(EINVAL, AttachFault::WrongName { id, name: name.into() });
            };
            let sleepable = facts.prog.prog_flags.contains(ProgFlags::SLEEPABLE);
            if sleepable && !facts.rules().tracing_sleeps && !FAULTABLE.contains(&tracepoint) {
                let name = tracepoint.into();
                reject!(EINVAL, AttachFault::TargetNotFaultable { name });
            }
            true
        }
        Some(
            attach @ (AttachType::TraceIter
            | AttachType::TraceFentry
            | AttachType::TraceFexit
            | AttachType::ModifyReturn
            | AttachType::LsmMac
            | AttachType::LsmCgroup),
        ) => {
            if target.kind() != Kind::Func {
                reject!(EINVAL, AttachFault::NotFunction { id });
            }
            match attach {
                AttachType::TraceIter => is_iterator(target),
                _ => return check_trampoline_target(facts, target),
            }
        }
        _ => false,
    };
    if !possible {
        return Err(Stop::refuse_silently(errno::EINVAL, AttachFault::NotAttachable));
    }
    Ok(())
}

/// Whether the kernel iterates over something with this function: those have its state as their
/// first parameter (kfuncs of open-coded iterators have similar names).
fn is_iterator(func: Type<'_>) -> bool {
    let Some(first) = func.target().params().next() else { return false };
    let btf = func.btf();
    let ptr = btf.skip_modifiers(first.ty);
    func.name().starts_with(ITER_PREFIX)
        && ptr.kind() == Kind::Ptr
        && btf.skip_modifiers(ptr.target_id()).name() == "bpf_iter_meta"
}

/// Tracing programs with an attach type of LSM programs are walked, and refused then.
pub(crate) fn check_attach_of_walked(facts: &Facts<'_>) -> Check {
    let attach = facts.prog.attach_type();
    let lsm = matches!(attach, Some(AttachType::LsmMac | AttachType::LsmCgroup));
    if facts.prog.prog_type == ProgType::Tracing && lsm {
        return Err(Stop::refuse_silently(errno::ENOTSUPP, AttachFault::NotImplemented));
    }
    Ok(())
}
