//! Pointers that became numbers, or were read again: as numbers, if an insn took them away, or
//! without the check for NULL of the first read.

use crate::diagnosis::dataflow::{Dataflow, Id, Origin, Value};
use crate::diagnosis::history::{is_of_packet, named_register, takes_away};
use crate::diagnosis::note::Note;
use crate::diagnosis::notes::{Described, callee, insn_idx, since};
use crate::insn::code::{BPF_ALU, BPF_JEQ, BPF_JNE, BPF_MOV};
use crate::program::Program;
use crate::{Refusal, WalkedPath};

/// Rejections of a number where a pointer is needed.
pub(super) const CODES: [&str; 2] = ["argument-of-other-type", "not-a-pointer-to-memory"];

/// The insn that wrote to the pointer in memory or copied half of it, or the call that invalidated
/// it there.
pub(super) fn note(
    refusal: &Refusal,
    path: &WalkedPath,
    program: &Program,
    dataflow: &Dataflow<'_>,
    describe: &impl Fn(usize) -> Described,
) -> Option<Note> {
    if refusal.reg_type()?.contains("_or_null") {
        return checked_before(refusal, dataflow, program, describe);
    }
    refusal.reg_type().filter(|&ty| ty == "scalar")?;
    let regno = named_register(refusal)?;
    let id = *dataflow.regs.get(&(dataflow.frame, regno))?;
    let computed = dataflow.ancestors_by(id, |made, _| made.made != Origin::Loaded);
    let is_pointer = |id: Id| dataflow.values[id].told.filter(|told| !told.view().is_number());
    computed.into_iter().find_map(|id| {
        let loaded = &dataflow.values[id];
        if let Some(by) = halves(loaded, program) {
            is_pointer(loaded.of[0]?)?;
            return Some(since("only 32 bits of a pointer were kept by", by, describe));
        }
        if let Some((before, by)) = loaded.overwritten {
            is_pointer(before)?;
            return Some(since("a pointer was stored there, and overwritten by", by, describe));
        }
        let read = loaded.by.filter(|_| loaded.made == Origin::Loaded)?;
        let told = is_pointer(loaded.of[0]?)?;
        let insns: Vec<usize> = path.steps().filter_map(insn_idx).collect();
        let before = insns.get(..insns.iter().rposition(|&idx| idx == read)?)?;
        let takes =
            |idx: usize| callee(program, idx, describe).is_some_and(|it| takes_away(told, &it));
        let Some(by) = before.iter().rev().copied().find(|&idx| takes(idx)) else {
            let says = "a pointer was stored in memory that keeps only numbers, and read back by";
            return (!dataflow.is_on_stack(id)).then(|| since(says, read, describe));
        };
        let whose = match is_of_packet(told) {
            true => "it was invalidated, as all pointers to the packet were, by",
            false => "it was invalidated by",
        };
        Some(since(&format!("a pointer was stored there; {whose}"), by, describe))
    })
}

/// The insn that copied the lower half of a register.
fn halves(value: &Value<'_>, program: &Program) -> Option<usize> {
    let by = value.by.filter(|_| value.made == Origin::Computed)?;
    let insn = program.insns.get(by)?;
    (insn.class() == BPF_ALU && insn.op() == BPF_MOV).then_some(by)
}

/// The check for NULL of another read of the same memory.
fn checked_before(
    refusal: &Refusal,
    dataflow: &Dataflow<'_>,
    program: &Program,
    describe: &impl Fn(usize) -> Described,
) -> Option<Note> {
    let regno = named_register(refusal)?;
    let id = *dataflow.regs.get(&(dataflow.frame, regno))?;
    let place = dataflow.values[id].read_from?;
    let is_of_null = |idx: usize| {
        let insn = program.insns.get(idx);
        insn.is_some_and(|it| {
            matches!(it.op(), BPF_JEQ | BPF_JNE) && !it.is_src_reg() && it.imm == 0
        })
    };
    let is_other = |of: Id| of < id && dataflow.values[of].read_from == Some(place);
    let mut checks = dataflow.checks.iter().rev();
    let check = checks.find(|check| is_other(check.dst) && is_of_null(check.insn_idx))?;
    let says = "it was read again after another read of the same memory was compared, at";
    Some(since(says, check.insn_idx, describe))
}
