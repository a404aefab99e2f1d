//! The attach target of a program, as far as it is known at load time.
//!
//! Kernel: `bpf_prog_load_check_attach`, `check_attach_btf_id`, `bpf_check_attach_target`,
//! `bpf_iter_prog_supported`, `can_be_sleepable` (6.18).

use super::attach_target::{check_trampoline_name, check_trampoline_target};
use super::replaced::check_replaced;
use super::struct_ops::check_struct_ops_btf_id;
use crate::env::Facts;
use crate::rejection::{AttachFault, Check, Stop, reject, unsupported};
use skep_btf::{Kind, Type, TypeId};
use skep_program::AttachTarget;
use skep_uapi::errno;
use skep_uapi::{
    AttachType, BTF_MAX_TYPE, Behaviours, ProgFlags, ProgType, attach_types, attaches_to_btf,
    is_for_unprivileged, needs_perfmon, takes_any_attach,
};

/// Prefix of the typedefs of tracepoints.
const TRACEPOINT_PREFIX: &str = "btf_trace_";
/// Prefix of the functions of iterators.
const ITER_PREFIX: &str = "bpf_iter_";

/// Checks that the loader's capabilities suffice for the program type.
pub(crate) fn check_permitted(facts: &Facts<'_>) -> Check {
    let prog_type = facts.prog.prog_type;
    let privileges = facts.config.privileges;
    let capability = match () {
        () if !privileges.bpf && !is_for_unprivileged(prog_type) => "CAP_BPF",
        () if !privileges.perfmon && needs_perfmon(prog_type) => "CAP_PERFMON",
        () => return Ok(()),
    };
    let kind = AttachFault::NotPermitted { prog_type, capability };
    Err(Stop::refuse_silently(errno::EPERM, kind))
}

/// Checks program type and target before any insn; the kernel returns only `EINVAL`.
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
    let takes_any = takes_any_attach(prog_type, facts.config.profile.attach_end);
    if !takes_any && !attach_types(prog_type).contains(number) {
        return refused(AttachFault::AttachType { number, prog_type });
    }
    Ok(())
}

/// The BTF id of the kernel type that the program names; 0 for none.
fn attach_btf_id(facts: &Facts<'_>) -> u32 {
    match &facts.prog.attach {
        AttachTarget::Kernel { btf_id, .. } => *btf_id,
        _ => 0,
    }
}

/// Checks whether the program may be sleepable, which member a struct_ops program implements, and
/// that the target of a tracing program exists.
pub(crate) fn check_attach_btf_id(facts: &Facts<'_>) -> Check {
    let sleepable = facts.prog.prog_flags.contains(ProgFlags::SLEEPABLE);
    if facts.prog.prog_type == ProgType::Syscall && !facts.is_replacement() {
        if !sleepable {
            reject!(EINVAL, AttachFault::NotSleepable);
        }
        return Ok(());
    }
    // Some kernels refuse them, and no object file can ask for one.
    let of_cgroup = facts.prog.attach_type() == Some(AttachType::LsmCgroup);
    if sleepable && of_cgroup && *facts.rules() != Behaviours::reference() {
        return unsupported("LSM programs of cgroups that sleep, on this kernel");
    }
    if sleepable && !can_be_sleepable(facts) {
        // Not tested on a kernel: whether writable tracepoint programs may be sleepable.
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

/// Tracepoints whose programs may sleep: among the 901 of Linux 7.1 and 7.3, those of system calls.
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
    let Some(btf) = facts.prog.kernel_btf.as_deref().filter(|_| !named) else {
        return check_attach_name(facts);
    };
    let Some(target) = btf.get(TypeId(id)) else {
        reject!(EINVAL, AttachFault::InvalidId { id });
    };
    let name = target.name();
    let possible = match attach_type_there(facts) {
        Some(AttachType::TraceRawTp) => {
            if target.kind() != Kind::Typedef {
                reject!(EINVAL, AttachFault::NotTypedef { id });
            }
            let Some(tracepoint) = name.strip_prefix(TRACEPOINT_PREFIX) else {
                reject!(EINVAL, AttachFault::WrongName { id, name: name.into() });
            };
            check_faultable(facts, tracepoint)?;
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

/// Checks what depends on the target's name alone: without the kernel's BTF there is no more.
fn check_attach_name(facts: &Facts<'_>) -> Check {
    let (AttachTarget::Unresolved(name) | AttachTarget::Kernel { name, .. }) = &facts.prog.attach
    else {
        return Ok(());
    };
    let name = name.split_once(':').map_or(name.as_str(), |(_, name)| name);
    match attach_type_there(facts) {
        Some(AttachType::TraceRawTp) => check_faultable(facts, name),
        Some(
            AttachType::TraceFentry
            | AttachType::TraceFexit
            | AttachType::ModifyReturn
            | AttachType::LsmMac
            | AttachType::LsmCgroup,
        ) => check_trampoline_name(facts, name),
        None if facts.prog.prog_type == ProgType::Lsm => {
            Err(Stop::refuse_silently(errno::EINVAL, AttachFault::NotAttachable))
        }
        _ => Ok(()),
    }
}

/// The attach type, if the kernel knows it.
fn attach_type_there(facts: &Facts<'_>) -> Option<AttachType> {
    facts.prog.attach_type().filter(|it| it.number() < facts.config.profile.attach_end)
}

/// Whether a program for this tracepoint may sleep, if it does.
fn check_faultable(facts: &Facts<'_>, tracepoint: &str) -> Check {
    let sleepable = facts.prog.prog_flags.contains(ProgFlags::SLEEPABLE);
    if sleepable && !facts.rules().tracing_sleeps && !FAULTABLE.contains(&tracepoint) {
        reject!(EINVAL, AttachFault::TargetNotFaultable { name: tracepoint.into() });
    }
    Ok(())
}

/// Whether this is the function of a BPF iterator: its first parameter is the iterator's state (the
/// kfuncs of open-coded iterators have similar names).
fn is_iterator(func: Type<'_>) -> bool {
    let Some(first) = func.target().params().next() else { return false };
    let btf = func.btf();
    let ptr = btf.skip_modifiers(first.ty);
    func.name().starts_with(ITER_PREFIX)
        && ptr.kind() == Kind::Ptr
        && btf.skip_modifiers(ptr.target_id()).name() == "bpf_iter_meta"
}

/// A tracing program with an attach type of LSM programs has no rule for its result: it is rejected
/// where it first ends.
pub(crate) fn check_attach_of_result(facts: &Facts<'_>) -> Check {
    let attach = facts.prog.attach_type();
    let lsm = matches!(attach, Some(AttachType::LsmMac | AttachType::LsmCgroup));
    if facts.prog.prog_type == ProgType::Tracing && lsm {
        return Err(Stop::refuse_silently(errno::ENOTSUPP, AttachFault::NotImplemented));
    }
    Ok(())
}
