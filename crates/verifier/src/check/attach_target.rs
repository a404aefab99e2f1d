//! The function that a tracing or LSM program attaches to through a trampoline.
//!
//! Which functions are allowed depends on the kernel: on its symbols, on the functions with error
//! injection, on lists that it was built with (`uapi::trampoline`).
//!
//! Kernel: `bpf_check_attach_target`, `btf_distill_func_proto`, `check_attach_btf_id`,
//! `bpf_lsm_verify_prog` (6.18).

use crate::env::Facts;
use crate::passes::prototypes::prototype_fault;
use crate::rejection::{AttachFault, Check, reject, unsupported};
use skep_btf::Type;
use skep_uapi::trampoline::{self, Hook};
use skep_uapi::{AttachType, ProgFlags, ProgType, is_gpl_compatible};

/// Refuses a function that programs of this type cannot attach to.
pub(super) fn check_trampoline_target(facts: &Facts<'_>, func: Type<'_>) -> Check {
    check_prototype(facts, func)?;
    check_trampoline(facts, func.name())?;
    match facts.prog.prog_type {
        ProgType::Lsm => check_lsm_hook(facts, func.id().0, func.name()),
        _ => check_not_denied(facts, func.name()),
    }
}

/// The same without the kernel's BTF, of which only the function's prototype is not checked.
/// `name` is that of the section: without the prefix of a hook.
pub(super) fn check_trampoline_name(facts: &Facts<'_>, name: &str) -> Check {
    if facts.prog.prog_type != ProgType::Lsm {
        check_trampoline(facts, name)?;
        return check_not_denied(facts, name);
    }
    let name = format!("bpf_lsm_{name}");
    check_trampoline(facts, &name)?;
    match trampoline::lsm_hook_by(&name, facts.rules()) {
        Hook::Sleepable | Hook::Atomic => Ok(()),
        // The message contains the function's id.
        Hook::Disabled | Hook::None => unsupported(format!("{name}, without the kernel's BTF")),
    }
}

/// Whether a trampoline can pass on the arguments and the result.
fn check_prototype(facts: &Facts<'_>, func: Type<'_>) -> Check {
    match prototype_fault(func, facts.rules().structs_as_arguments) {
        Some(fault) => reject!(EINVAL, AttachFault::Prototype { fault }),
        None => Ok(()),
    }
}

/// Checks that the function can be called through a trampoline: it has an address, and it may sleep
/// or have its result modified if the program does so.
fn check_trampoline(facts: &Facts<'_>, name: &str) -> Check {
    if facts.config.kernel_symbols.as_ref().is_some_and(|symbols| !(symbols.0)(name)) {
        reject!(ENOENT, AttachFault::NoAddress { name: name.into() });
    }
    if facts.prog.prog_flags.contains(ProgFlags::SLEEPABLE) {
        if !may_sleep(facts, name)? {
            reject!(EINVAL, AttachFault::TargetNotSleepable { name: name.into() });
        }
        return Ok(());
    }
    if facts.prog.attach_type() == Some(AttachType::ModifyReturn) && !may_be_modified(facts, name)?
    {
        reject!(EINVAL, AttachFault::NotModifiable { name: name.into() });
    }
    Ok(())
}

fn may_sleep(facts: &Facts<'_>, name: &str) -> Check<bool> {
    if facts.prog.prog_type == ProgType::Lsm {
        return Ok(trampoline::lsm_hook_sleeps(name, facts.rules()));
    }
    match trampoline::modifiable(name) {
        Some(true) if facts.rules().fmod_ret_tests => Ok(true),
        _ if trampoline::never_sleeps(name) => Ok(false),
        _ => takes_errors(facts, name),
    }
}

/// Kernel: `check_attach_modify_return`, `btf_kfunc_is_modify_return`.
fn may_be_modified(facts: &Facts<'_>, name: &str) -> Check<bool> {
    let made_for_it = facts.rules().fmod_ret_tests && trampoline::modifiable(name).is_some();
    if name.starts_with("security_") || made_for_it {
        return Ok(true);
    }
    takes_errors(facts, name)
}

/// Prefix of the entry functions of system calls.
const SYSCALL_PREFIX: &str = "__x64_sys_";

/// Whether errors may be injected into the function, or the kernel treats it as one of those.
fn takes_errors(facts: &Facts<'_>, name: &str) -> Check<bool> {
    if facts.rules().syscalls_sleep && name.starts_with(SYSCALL_PREFIX) {
        return Ok(true);
    }
    let known = facts.config.error_injection.as_ref().and_then(|functions| (functions.0)(name));
    match known {
        Some(takes) => Ok(takes),
        None => unsupported(format!("whether errors may be injected into {name}: not known here")),
    }
}

fn check_lsm_hook(facts: &Facts<'_>, id: u32, name: &str) -> Check {
    if !is_gpl_compatible(&facts.prog.license) {
        reject!(EINVAL, AttachFault::LsmNeedsGpl);
    }
    match trampoline::lsm_hook_by(name, facts.rules()) {
        Hook::Disabled => {
            reject!(EINVAL, AttachFault::DisabledHook { id, name: name.into() })
        }
        Hook::None => reject!(EINVAL, AttachFault::WrongName { id, name: name.into() }),
        Hook::Sleepable | Hook::Atomic => Ok(()),
    }
}

fn check_not_denied(facts: &Facts<'_>, name: &str) -> Check {
    if trampoline::is_denied(name, facts.rules()) {
        reject!(EINVAL, AttachFault::Denied { name: name.into() });
    }
    let returns =
        matches!(facts.prog.attach_type(), Some(AttachType::TraceFexit | AttachType::ModifyReturn));
    let must_return = facts.rules().targets_must_return;
    if returns && must_return && trampoline::never_returns(name) {
        reject!(EINVAL, AttachFault::NoReturn { name: name.into() });
    }
    Ok(())
}
