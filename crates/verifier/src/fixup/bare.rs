//! Unverified insns, for conformance tests of engines: only the invariants of `Xlated` are checked.

use super::{Walked, dead_code};
use crate::env::{Subprog, SubprogUse};
use crate::passes::call_facts::{callee_start, is_pseudo_call, is_pseudo_func};
use crate::xlated::{NotSupported, is_jump};
use skep_insn::code::*;
use skep_insn::{Insn, Opcode};

/// Stack size of each function.
const STACK_BYTES: u32 = skep_uapi::limits::MAX_BPF_STACK_BYTES;

/// Checks that every insn is valid, and that jumps and calls stay within the program.
pub(super) fn check(insns: &[Insn]) -> Result<(), NotSupported> {
    let at = |idx: usize, what: &str| NotSupported::new(format!("insn {idx}: {what}"));
    let mut second_slot = false;
    let starts = starts(insns);
    for (idx, &insn) in insns.iter().enumerate() {
        if std::mem::take(&mut second_slot) {
            continue;
        }
        second_slot = insn.is_ld_imm64();
        if Opcode::of(insn).is_none() || insn.dst > 10 || insn.src > 10 {
            return Err(at(idx, "no insn"));
        }
        let end = starts.iter().copied().find(|&s| s > idx as u32).unwrap_or(insns.len() as u32);
        let start = starts.iter().copied().rfind(|&s| s <= idx as u32).unwrap_or(0);
        if is_jump(insn) && !(start..end).contains(&dead_code::target(idx, insn)) {
            return Err(at(idx, "a jump out of its function"));
        }
        let last = idx + 1 + usize::from(second_slot) >= end as usize;
        let closes = matches!(insn.code, EXIT | JA | GOTOL);
        if last && !closes {
            return Err(at(idx, "falls out of its function"));
        }
    }
    let inside = |&start: &u32| (start as usize) < insns.len();
    if insns.is_empty() || second_slot || !starts.iter().all(inside) {
        return Err(NotSupported::new("insns that are not closed"));
    }
    Ok(())
}

const EXIT: u8 = BPF_JMP | BPF_EXIT;
const JA: u8 = BPF_JMP | BPF_JA;
const GOTOL: u8 = BPF_JMP32 | BPF_JA;

/// First insns of all functions, in ascending order.
fn starts(insns: &[Insn]) -> Vec<u32> {
    let named = insns.iter().enumerate().filter(|(_, i)| is_pseudo_call(i) || is_pseudo_func(i));
    let mut starts: Vec<u32> = named.map(|(at, i)| callee_start(at, i) as u32).collect();
    starts.push(0);
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// The walk's results as if every insn had been walked.
pub(super) fn walked(insns: &[Insn]) -> Walked {
    let subprogs = starts(insns).into_iter().map(|start| Subprog { start, ..Subprog::default() });
    let subprogs: Vec<Subprog> = subprogs.collect();
    let unknown = SubprogUse { stack_depth: STACK_BYTES, ..SubprogUse::default() };
    Walked { uses: vec![unknown; subprogs.len()], subprogs, ..Walked::default() }
}
