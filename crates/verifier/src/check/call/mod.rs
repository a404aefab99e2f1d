//! Calls: of helpers, of functions of the program, of kernel functions.
//!
//! Kernel: the `BPF_CALL` part of `do_check_insn` (6.18).

pub(crate) mod arg_mem;
pub(crate) mod arg_type;
pub(crate) mod callback;
pub(crate) mod dynptr;
pub(crate) mod field_args;
pub(crate) mod format;
pub(crate) mod func_args;
pub(crate) mod func_contract;
pub(crate) mod helper;
pub(crate) mod helper_args;
pub(crate) mod lock;
pub(crate) mod map_args;
pub(crate) mod meta;
pub(crate) mod refs;
pub(crate) mod retval;
pub(crate) mod sub_arg;
pub(crate) mod subprog;

use crate::check::fields::check_fields;
use crate::env::Env;
use crate::explore::next::Next;
use crate::rejection::{CallFault, Check, OtherRule, reject, unsupported};
use skep_insn::Insn;
use skep_insn::code::*;
use skep_uapi::helper::HelperId;

/// Checks that the call is allowed while a spin lock is held.
fn check_under_lock(env: &Env<'_>, insn: &Insn) -> Check {
    let rules = env.facts.rules();
    let is = |helper: HelperId| insn.imm == helper.number() as i32;
    let allowed = match insn.src {
        BPF_PSEUDO_CALL => rules.static_calls_under_lock,
        BPF_PSEUDO_KFUNC_CALL => match env.facts.callable.kfuncs.get(insn) {
            Some(it) if it.row.is_none() => {
                return unsupported(format!("kfunc {} while a lock is held", it.name));
            }
            Some(it) => it.spin_allowed(rules) && (rules.iterators_under_lock || !it.is_iter()),
            None => false,
        },
        _ => is(HelperId::SpinUnlock) || is(HelperId::KptrXchg) && rules.xchg_under_lock,
    };
    if !allowed {
        reject!(EINVAL, CallFault::CallUnderLock);
    }
    Ok(())
}

/// Walks a call.
pub(crate) fn check_call(env: &mut Env<'_>) -> Check<Next> {
    check_fields(env)?;
    let insn = env.insn();
    if env.walk.cur.refs.active_locks > 0 {
        check_under_lock(env, &insn)?;
    }
    if insn.src == BPF_PSEUDO_KFUNC_CALL && !env.facts.rules().kfuncs {
        reject!(EINVAL, OtherRule::NoKfuncs);
    }
    let next = match insn.src {
        BPF_PSEUDO_CALL => subprog::check_func_call(env)?,
        BPF_PSEUDO_KFUNC_CALL => super::kfunc::check_kfunc_call(env)?,
        _ => helper::check_helper_call(env)?,
    };
    env.walk.scratched_regs |= 1;
    Ok(next)
}
