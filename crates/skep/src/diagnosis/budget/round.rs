//! An iteration of an infinite loop: the conditions that could leave it, and why they do not.

use super::loops::head;
use crate::diagnosis::history::insn::{read_registers, written_register};
use crate::diagnosis::note::Note;
use crate::diagnosis::notes::{Described, since};
use crate::insn::Insn;
use crate::insn::code::*;
use crate::program::Program;
use crate::{Step, WalkedPath};

/// Maximum number of conditions shown.
const CONDITIONS_MAX: usize = 3;

pub(super) fn notes(
    path: &WalkedPath,
    program: &Program,
    describe: &impl Fn(usize) -> Described,
) -> (Vec<Note>, Option<usize>) {
    let round = last_round(path);
    let mut notes = Vec::new();
    let is_condition = |idx: &&usize| program.insns.get(**idx).is_some_and(is_conditional);
    let mut conditions: Vec<usize> = round.iter().filter(is_condition).copied().collect();
    conditions.sort_unstable();
    conditions.dedup();
    if conditions.is_empty() {
        let text = match round.len() {
            0 | 1 => "the insn jumps to itself".to_owned(),
            count => {
                format!("each iteration executes the same {count} insns, none of which branches")
            }
        };
        notes.push(Note { text, at: None });
    }
    for &idx in conditions.iter().take(CONDITIONS_MAX) {
        notes.push(since("each iteration takes the same branch at", idx, describe));
        notes.extend(why_same(idx, &round, program, describe));
    }
    let insns = round.iter().min().zip(round.iter().max());
    let head = insns.and_then(|(&first, &last)| head(&(first..=last), describe));
    (notes, head.or(conditions.first().copied()))
}

/// The insns from the previous visit of the last insn to the one before it.
fn last_round(path: &WalkedPath) -> Vec<usize> {
    let steps = path.steps().filter_map(|step| match step {
        Step::Insn { insn_idx, frame } => Some((*insn_idx as usize, *frame)),
        _ => None,
    });
    let steps: Vec<(usize, u32)> = steps.collect();
    let Some(&last) = steps.last() else { return Vec::new() };
    let before = &steps[..steps.len() - 1];
    let from = before.iter().rposition(|&step| step == last).unwrap_or(before.len());
    before[from..].iter().map(|&(idx, _)| idx).collect()
}

fn is_conditional(insn: &Insn) -> bool {
    let is_jump = matches!(insn.class(), BPF_JMP | BPF_JMP32);
    is_jump && !matches!(insn.op(), BPF_JA | BPF_CALL | BPF_EXIT)
}

/// Why the condition at `idx` has the same result in each iteration, as far as an insn of the
/// iteration shows.
fn why_same(
    idx: usize,
    round: &[usize],
    program: &Program,
    describe: &impl Fn(usize) -> Described,
) -> Option<Note> {
    let regs = read_registers(program.insns.get(idx)?);
    let written = |reg: u8| {
        let mut insns = round.iter().rev().copied();
        insns.find(|&at| program.insns.get(at).is_some_and(|insn| changes(insn, reg)))
    };
    let changed: Vec<(u8, usize)> =
        regs.iter().filter_map(|&reg| Some((reg, written(reg)?))).collect();
    if changed.is_empty() && !regs.is_empty() {
        let names: Vec<String> = regs.iter().map(|reg| format!("R{reg}")).collect();
        let text = format!("nothing in the loop changes {}", names.join(" or "));
        return Some(Note { text, at: None });
    }
    let loaded = |&(reg, _): &(u8, usize)| Some((reg, loaded_by(reg, round, program)?));
    let (reg, by) = changed.iter().find_map(loaded)?;
    Some(since(
        &format!("R{reg} is read from memory, whose contents are not tracked, by"),
        by,
        describe,
    ))
}

/// The load from whose result the iteration computes a register, such as by extending its sign.
fn loaded_by(reg: u8, round: &[usize], program: &Program) -> Option<usize> {
    let mut reg = reg;
    for &at in round.iter().rev() {
        let insn = program.insns.get(at).filter(|insn| changes(insn, reg));
        let Some(insn) = insn else { continue };
        match (insn.class(), insn.op()) {
            (BPF_LDX, _) => return Some(at),
            (BPF_ALU | BPF_ALU64, BPF_MOV) if insn.is_src_reg() => reg = insn.src,
            (BPF_ALU | BPF_ALU64, op) if op != BPF_MOV && !insn.is_src_reg() => {}
            _ => return None,
        }
    }
    None
}

/// Whether an insn may change a register.
fn changes(insn: &Insn, reg: u8) -> bool {
    let computes = matches!(insn.class(), BPF_ALU | BPF_ALU64) && insn.dst == reg;
    computes || written_register(insn) == Some(reg)
}
