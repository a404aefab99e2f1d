//! Bytes of the stack that are read but were never written by the program: a dynptr or iterator is
//! there, which only the functions for it may read.

use crate::Refusal;
use crate::diagnosis::dataflow::Dataflow;
use crate::diagnosis::note::Note;
use crate::diagnosis::notes::{Described, callee, since};
use crate::program::Program;

pub(super) const CODES: [&str; 2] = ["uninitialized-stack", "uninitialized-stack-argument"];

/// What such functions have in their names, what they make, and its bytes; iterators may have more.
const MAKERS: [(&str, &str, i64); 3] = [
    ("dynptr", "a dynptr", 16),
    ("bpf_iter_", "an iterator", 8),
    ("bpf_local_irq_save", "flags", 8),
];

/// The call that made what is there.
pub(super) fn note(
    refusal: &Refusal,
    dataflow: &Dataflow<'_>,
    program: &Program,
    describe: &impl Fn(usize) -> Described,
) -> Option<Note> {
    let at = place(refusal)?;
    let made = dataflow.passed.iter().rev().find_map(|&(id, idx)| {
        let from = dataflow.stack_offset(id).filter(|from| *from <= at)?;
        let name = callee(program, idx, describe)?;
        let (_, what, bytes) = MAKERS.iter().find(|(word, ..)| name.contains(word))?;
        (at - from < *bytes).then_some((idx, *what, from))
    });
    let (idx, what, from) = made?;
    Some(since(&format!("the bytes from fp{from} on are those of {what}, made by"), idx, describe))
}

/// The first byte that nothing wrote.
fn place(refusal: &Refusal) -> Option<i64> {
    let from = refusal.number("min_off").or_else(|| refusal.number("off"))?;
    from.checked_add(refusal.number("byte")?)
}
