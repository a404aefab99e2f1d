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
    let at = place(&refusal.message)?;
    let made = dataflow.passed.iter().rev().find_map(|&(id, idx)| {
        let is_there = dataflow.stack_offset(id) == Some(at);
        let name = callee(program, idx, describe).filter(|_| is_there)?;
        let (_, what) = MAKERS.iter().find(|(word, _)| name.contains(word))?;
        Some((idx, *what))
    });
    let (idx, what) = made?;
    Some(since(&format!("the bytes from fp{at} on are those of {what}, made by"), idx, describe))
}

/// The first byte that nothing wrote: `invalid read from stack R3 off -24+8 size 24`.
fn place(message: &str) -> Option<i64> {
    let (_, rest) = message.split_once(" off ")?;
    let (from, more) = rest.split_once(' ')?.0.split_once('+')?;
    from.parse::<i64>().ok()?.checked_add(more.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn where_a_read_begins_to_fail() {
        assert_eq!(place("invalid read from stack R3 off -24+8 size 24"), Some(-16));
        assert_eq!(place("invalid read from stack off -8+0 size 8"), Some(-8));
        assert_eq!(place("invalid read from stack"), None);
    }
}
