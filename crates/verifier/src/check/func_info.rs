//! Whether the func info of a program matches its functions.
//!
//! Kernel: `check_btf_func_early`, `check_btf_func`, `check_abnormal_return` (6.18).

use crate::env::Facts;
use crate::passes::subprogs::{Subprogs, check_abnormal_return};
use crate::rejection::{Check, FuncFault, Stop, reject};
use skep_btf::{Btf, Kind, TypeId};
use skep_program::FuncInfo;
use skep_uapi::Behaviours;
use skep_uapi::errno;

/// Whether order and types are checked before subprogs are found: exception callbacks, which are
/// subprogs, are found by them.
pub(crate) fn is_checked_early(rules: &Behaviours) -> bool {
    rules.exceptions
}

/// Checks the order of the rows and their types.
pub(crate) fn check_btf_func_early(facts: &Facts<'_>) -> Check {
    let Some(btf) = facts.prog.btf.as_deref() else { return Ok(()) };
    let rows = &facts.prog.func_info;
    for (i, row) in rows.iter().enumerate() {
        check_order(rows, i)?;
        check_type(btf, row)?;
    }
    Ok(())
}

fn check_order(rows: &[FuncInfo], i: usize) -> Check {
    let off = |i: usize| rows[i].insn_off.0;
    let kind = match i.checked_sub(1).map(off) {
        None if off(i) != 0 => FuncFault::FirstNotAtStart { off: off(i) },
        Some(prev) if off(i) <= prev => FuncFault::RowsOutOfOrder { off: off(i), prev },
        _ => return Ok(()),
    };
    Err(Stop::refuse_open_line(errno::EINVAL, kind))
}

fn check_type(btf: &Btf, row: &FuncInfo) -> Check {
    if btf.get(TypeId(row.type_id)).is_some_and(|ty| ty.kind() == Kind::Func) {
        return Ok(());
    }
    let kind = FuncFault::RowTypeId { id: row.type_id as i32 };
    Err(Stop::refuse_open_line(errno::EINVAL, kind))
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
    let is_early = is_checked_early(facts.rules());
    for (i, row) in rows.iter().enumerate() {
        let subprog = &facts.subprogs[i];
        if !is_early {
            check_order(rows, i)?;
        }
        if subprog.start != row.insn_off.0 {
            reject!(EINVAL, FuncFault::RowLayout);
        }
        if !is_early {
            check_type(btf, row)?;
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
