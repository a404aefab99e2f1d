//! Whether the func info of a program fits its functions.
//!
//! Kernel: `check_btf_func_early`, `check_btf_func`, `check_abnormal_return` (6.18).

use crate::env::Env;
use crate::log::reject;
use crate::passes::subprogs::{Subprogs, check_abnormal_return};
use crate::rejection::{Check, errno};
use skep_btf::{Kind, TypeId};

/// Checks the order of the rows and their types; runs before the functions are found.
pub(crate) fn check_btf_func_early(env: &mut Env<'_>) -> Check {
    let Some(btf) = env.prog.btf.clone() else { return Ok(()) };
    let mut prev = None;
    for row in &env.prog.func_info {
        let off = row.insn_off.0;
        match prev {
            None if off != 0 => {
                let text = format!("nonzero insn_off {off} for the first func info record");
                return Err(env.refuse_without_newline(errno::EINVAL, text));
            }
            Some(prev) if off <= prev => {
                let text = format!(
                    "same or smaller insn offset ({off}) than previous func info record ({prev})"
                );
                return Err(env.refuse_without_newline(errno::EINVAL, text));
            }
            _ => {}
        }
        if btf.get(TypeId(row.type_id)).is_none_or(|ty| ty.kind() != Kind::Func) {
            let text = format!("invalid type id {} in func info", row.type_id as i32);
            return Err(env.refuse_without_newline(errno::EINVAL, text));
        }
        prev = Some(off);
    }
    Ok(())
}

/// Checks that each function has a row, and that functions which may end early return a number.
pub(crate) fn check_btf_func(env: &mut Env<'_>, subprogs: &Subprogs) -> Check {
    let rows = &env.prog.func_info;
    let Some(btf) = env.prog.btf.as_deref().filter(|_| !rows.is_empty()) else {
        // Nothing is known of what a function returns.
        return match check_abnormal_return(subprogs) {
            Ok(()) => Ok(()),
            Err(refused) => reject!(env, EINVAL, "{}", refused.message),
        };
    };
    if rows.len() != env.subprogs.len() {
        reject!(env, EINVAL, "number of funcs in func_info doesn't match number of subprogs");
    }
    for (i, row) in rows.iter().enumerate() {
        let subprog = &env.subprogs[i];
        if subprog.start != row.insn_off.0 {
            reject!(
                env,
                EINVAL,
                "func_info BTF section doesn't match subprog layout in BPF program"
            );
        }
        let proto = btf.ty(TypeId(row.type_id)).target();
        let ret = btf.skip_modifiers(proto.target_id());
        let small_int = ret.kind() == Kind::Int && ret.stated_size().is_some_and(|n| n <= 8);
        if i == 0 || small_int || ret.kind().is_any_enum() {
            continue;
        }
        let what = match (subprog.has_ld_abs, subprog.has_tail_call) {
            (true, _) => "LD_ABS",
            (_, true) => "tail_call",
            _ => continue,
        };
        reject!(env, EINVAL, "{what} is only allowed in functions that return 'int'.");
    }
    Ok(())
}
