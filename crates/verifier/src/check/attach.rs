//! What a program is attached to, as far as that is known when it is loaded.
//!
//! Kernel: `check_attach_btf_id`, `can_be_sleepable` (6.18).

use super::struct_ops::check_struct_ops_btf_id;
use crate::env::Env;
use crate::log::reject;
use crate::rejection::Check;
use skep_uapi::{AttachType, ProgFlags, ProgType};

/// Checks that programs of this kind may sleep if the program says so, and what struct_ops programs
/// implement.
pub(crate) fn check_attach_btf_id(env: &mut Env<'_>) -> Check {
    let sleepable = env.prog.prog_flags.contains(ProgFlags::SLEEPABLE);
    if env.prog.prog_type == ProgType::Syscall {
        if !sleepable {
            reject!(env, EINVAL, "Syscall programs can only be sleepable");
        }
        return Ok(());
    }
    if sleepable && !can_be_sleepable(env) {
        reject!(
            env,
            EINVAL,
            "Only fentry/fexit/fmod_ret, lsm, iter, uprobe, and struct_ops programs can be sleepable"
        );
    }
    check_struct_ops_btf_id(env)
}

fn can_be_sleepable(env: &Env<'_>) -> bool {
    match env.prog.prog_type {
        ProgType::Tracing => matches!(
            env.prog.attach_type(),
            Some(
                AttachType::TraceFentry
                    | AttachType::TraceFexit
                    | AttachType::ModifyReturn
                    | AttachType::TraceIter
            )
        ),
        ProgType::Lsm | ProgType::Kprobe | ProgType::StructOps => true,
        _ => false,
    }
}
