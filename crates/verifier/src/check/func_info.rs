//! Whether the func info of a program matches its functions.
//!
//! Kernel: `check_btf_func_early`, `check_btf_func`, `check_abnormal_return` (6.18).

use crate::env::Facts;
use crate::passes::subprogs::{Subprogs, check_abnormal_return};
use crate::rejection::{Check, FuncFault, Stop, errno, reject};
use skep_btf::{Kind, TypeId};

/// Checks the order of the rows and their types; runs before subprogs are found.
pub(crate) fn check_btf_func_early(facts: &Facts<'_>) -> Check {
    let Some(btf) = facts.prog.btf.clone() else { return Ok(()) };
    let mut prev = None;
    for row in &facts.prog.func_info {
        let off = row.insn_off.0;
        match prev {
            None if off != 0 => {
                let kind = FuncFault::FirstNotAtStart { off };
                return Err(Stop::refuse_open_line(errno::EINVAL, kind));
            }
            Some(prev) if off <= prev => {
                let kind = FuncFault::RowsOutOfOrder { off, prev };
                return Err(Stop::refuse_open_line(errno::EINVAL, kind));
            }
            _ => {}
        }
        if btf.get(TypeId(row.type_id)).is_none_or(|ty| ty.kind() != Kind::Func) {
            let kind = FuncFault::RowTypeId { id: row.type_id as i32 };
            return Err(Stop::refuse_open_line(errno::EINVAL, kind));
        }
        prev = Some(off);
    }
    Ok(())
}

/// Checks that each function has a row, and that functions which may end early return a scalar.
pub(crate) fn check_btf_func(facts: &Facts<'_>, subprogs: &Subprogs) -> Check {
    let rows = &facts.prog.func_info;
    let Some(btf) = facts.prog.btf.as_deref().filter(|_| !rows.is_empty()) else {
        // Without func info, the return types are unknown.
        return match check_abnormal_return(subprogs) {
            Ok(()) => Ok(()),
            Err(refused) => reject!(EINVAL, *refused.kind),
        };
    };
    if rows.len() != facts.subprogs.len() {
        reject!(EINVAL, FuncFault::RowCount);
    }
    for (i, row) in rows.iter().enumerate() {
        let subprog = &facts.subprogs[i];
        if subprog.start != row.insn_off.0 {
            reject!(EINVAL, FuncFault::RowLayout);
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
        reject!(EINVAL, FuncFault::EndsEarly { what });
    }
    Ok(())
}
