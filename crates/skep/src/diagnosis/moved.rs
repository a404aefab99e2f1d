//! Arithmetic with a pointer that the compiler has moved away from the access: to another line.

use crate::Refusal;
use crate::diagnosis::history::insn::{is_copy, keeps_no_arguments, written_register};
use crate::diagnosis::note::Note;
use crate::diagnosis::notes::{ARGUMENTS, Described, since};
use crate::insn::Insn;
use crate::insn::code::*;
use crate::program::Program;

/// Rejections of the arithmetic itself.
const OF_ARITHMETIC: [&str; 3] =
    ["pointer-moved-by-unbounded", "pointer-moved-too-far", "value-moves-pointer-too-far"];

/// More insns are not looked at.
const INSNS_MAX: usize = 64;

/// The access through the pointer, which follows in the program's text, if it is on another line.
pub(super) fn note(
    refusal: &Refusal,
    program: &Program,
    describe: &impl Fn(usize) -> Described,
) -> Option<Note> {
    let idx = refusal.insn_idx.filter(|_| OF_ARITHMETIC.contains(&refusal.kind.as_str()))?;
    let line = |at: usize| program.source_place(at).map(|place| (place.file, place.line));
    let end = program.function_range(idx).end.min(program.insns.len()).min(idx + INSNS_MAX);
    let mut holds = 1u16 << program.insns.get(idx)?.dst;
    // Where other paths come in, the registers may hold something else.
    let jumps = program.insns.iter().enumerate();
    let entered: Vec<usize> = jumps
        .filter(|(at, _)| !(idx..end).contains(at))
        .filter_map(|(at, insn)| insn.jump_target(at))
        .filter(|to| (idx + 1..end).contains(to))
        .collect();
    for (at, insn) in program.insns.get(..end)?.iter().enumerate().skip(idx + 1) {
        let is_jump = matches!(insn.class(), BPF_JMP | BPF_JMP32);
        let is_jump = is_jump && matches!(insn.op(), BPF_JA | BPF_EXIT);
        if entered.contains(&at) || is_jump {
            return None;
        }
        let through = accessed_through(insn);
        if through.is_some_and(|reg| holds >> reg & 1 == 1) {
            let is_other = line(at).is_some() && line(at) != line(idx);
            return is_other.then(|| since("the pointer is used at", at, describe));
        }
        if let Some(reg) = written_register(insn) {
            let is_copied = is_copy(insn) && holds >> insn.src & 1 == 1;
            holds = holds & !(1 << reg) | u16::from(is_copied) << reg;
        }
        if keeps_no_arguments(insn) {
            holds &= !ARGUMENTS;
        }
    }
    None
}

/// The register with the address of a load or store.
fn accessed_through(insn: &Insn) -> Option<u8> {
    match insn.class() {
        BPF_LDX => Some(insn.src),
        BPF_ST | BPF_STX => Some(insn.dst),
        _ => None,
    }
}
