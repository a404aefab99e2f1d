//! Whether the line info of a program matches its insns and functions.
//!
//! Kernel: `check_btf_line` (6.18).

use crate::env::Facts;
use crate::rejection::{Check, FuncFault, reject};

/// Checks row by row; runs after the functions are known, before any insn is decoded.
///
/// Rows must be in ascending order, begin at an insn (not at the second half of an `ld_imm64`), and
/// name strings that exist; each function needs one at its first insn. A program may have no line
/// info at all.
pub(crate) fn check_btf_line(facts: &Facts<'_>) -> Check {
    let prog = facts.prog;
    let Some(btf) = prog.btf.as_deref().filter(|_| !prog.line_info.is_empty()) else {
        return Ok(());
    };
    let strings = btf.string_bytes().len();
    let (mut prev, mut lines_of) = (0, 0);
    for (i, row) in prog.line_info.iter().enumerate() {
        let off = row.insn_off.0;
        let Some(insn) = prog.insns.get(off as usize).filter(|_| i == 0 || off > prev) else {
            let len = prog.insns.len();
            reject!(EINVAL, FuncFault::LineOffset { row: i, off, prev, len });
        };
        if insn.code == 0 {
            reject!(EINVAL, FuncFault::LineOnSecondHalf { row: i });
        }
        if [row.line_off, row.file_name_off].iter().any(|&at| at as usize >= strings) {
            reject!(EINVAL, FuncFault::LineNames { row: i });
        }
        match facts.subprogs.get(lines_of).map(|subprog| subprog.start) {
            Some(start) if start == off => lines_of += 1,
            Some(start) if start < off => {
                reject!(EINVAL, FuncFault::NoLineOf { func: lines_of })
            }
            _ => {}
        }
        prev = off;
    }
    let missing = facts.subprogs.len() - lines_of;
    if missing != 0 {
        reject!(EINVAL, FuncFault::NoLinesFrom { missing, func: lines_of });
    }
    Ok(())
}
