//! Bytes of the stack that are read but were never written by the program: a dynptr or iterator is
//! there, which only the functions for it may read.

use crate::Refusal;
use crate::diagnosis::dataflow::Dataflow;
use crate::diagnosis::note::Note;
use crate::diagnosis::notes::{Described, callee, since};
use crate::program::Program;

pub(super) const CODES: [&str; 2] = ["uninitialized-stack", "uninitialized-stack-argument"];

/// What such functions have in their names, and what they make.
const MAKERS: [(&str, &str); 3] =
    [("dynptr", "a dynptr"), ("bpf_iter_", "an iterator"), ("bpf_local_irq_save", "flags")];

/// The call that made what is there.
pub(super) fn note(
    refusal: &Refusal,
    dataflow: &Dataflow<'_>,
    program: &Program,
    describe: &impl Fn(usize) -> Described,
) -> Option<Note> {
    let at = place(refusal)?;
    let made = dataflow.passed.iter().rev().find_map(|&(id, idx)| {
        let is_there = dataflow.stack_offset(id) == Some(at);
        let name = callee(program, idx, describe).filter(|_| is_there)?;
        let (_, what) = MAKERS.iter().find(|(word, _)| name.contains(word))?;
        Some((idx, *what))
    });
    let (idx, what) = made?;
    Some(since(&format!("the bytes from fp{at} on are those of {what}, made by"), idx, describe))
}

/// The first byte that nothing wrote.
fn place(refusal: &Refusal) -> Option<i64> {
    let from = refusal.number("min_off").or_else(|| refusal.number("off"))?;
    from.checked_add(refusal.number("i")?)
}
