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
use crate::rejection::{CallFault, Check, OtherRule, reject};
use skep_insn::code::*;
use skep_uapi::helper::HelperId;

/// Walks a call.
pub(crate) fn check_call(env: &mut Env<'_>) -> Check<Next> {
    check_fields(env)?;
    let insn = env.insn();
    let allowed = match insn.src {
        BPF_PSEUDO_CALL => env.facts.rules().static_calls_under_lock,
        BPF_PSEUDO_KFUNC_CALL => {
            let iterates = env.facts.rules().iterators_under_lock;
            let callee = env.facts.callable.kfuncs.get(&insn);
            callee.is_some_and(|it| it.spin_allowed() && (iterates || !it.is_iter()))
        }
        _ => insn.imm == HelperId::SpinUnlock.number() as i32,
    };
    if env.walk.cur.refs.active_locks > 0 && !allowed {
        reject!(EINVAL, CallFault::CallUnderLock);
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
