//! Code that was inlined from another function or file: the program's own line beside it.

use crate::diagnosis::note::Note;
use crate::insn_text::{function_name, insn_with_map};
use crate::program::{Program, SourcePlace};
use crate::uapi::helper::HelperId;
use crate::{Step, WalkedPath};

/// Words before `(` that are not functions.
const NOT_CALLED: [&str; 7] = ["if", "while", "for", "switch", "return", "sizeof", "SEC"];

/// The line of the program's own file that leads to the insn at `shown`, or goes on after it, if
/// that insn's line is of another file.
pub(super) fn note(shown: usize, path: &WalkedPath, program: &Program) -> Option<Note> {
    let start = program.function_start(shown);
    let first = first_of_own(start, program)?;
    let own = &first.file;
    let walked = path.steps().rev().filter_map(|step| match step {
        Step::Insn { insn_idx, frame } if *frame == path.frame() => Some(*insn_idx as usize),
        _ => None,
    });
    let mut before = walked.skip_while(|&idx| idx != shown).filter(|&idx| idx >= start);
    let place = program.source_place(shown)?;
    if place.file == *own {
        // What is inlined from the same file stands above the function.
        let is_below = |of: &SourcePlace| of.file == *own && of.line >= first.line;
        let idx = before.find(|&idx| program.source_place(idx).is_some_and(|it| is_below(&it)))?;
        let head = function_name(program, start);
        let calls = |it: &SourcePlace| has_call(&it.text) && !it.has_word(&head);
        let at = program.source_place(idx).filter(calls)?;
        let insn = insn_with_map(program, idx)?;
        let text = format!("the line is that of an inlined function, called at insn {idx}: {insn}");
        return (place.line < first.line).then_some(Note { text, at: Some(at) });
    }
    let place_of_own = |idx: usize| program.source_place(idx).filter(|place| place.file == *own);
    let before = before.find(|&idx| place_of_own(idx).is_some());
    let mut after = shown + 1..program.insns.len();
    let after = after.find(|&idx| place_of_own(idx).is_some());
    let calls = |idx: &usize| place_of_own(*idx).is_some_and(|place| has_call(&place.text));
    let (says, idx) = match (before.filter(calls), after.filter(calls)) {
        (None, Some(idx)) => ("its code goes on at", idx),
        _ => ("this path was last at", before?),
    };
    let says = format!("the line is inlined from another file than the program's, where {says}");
    let text = format!("{says} insn {idx}: {}", insn_with_map(program, idx)?);
    Some(Note { text, at: place_of_own(idx) })
}

/// The first line of a function in its own file. If it begins with what is inlined from a header,
/// that is not the file.
fn first_of_own(start: usize, program: &Program) -> Option<SourcePlace> {
    let first = program.source_place(start)?;
    let is_header = |place: &SourcePlace| place.file.ends_with(".h");
    let rows = program.source_lines().0.iter().map(|row| row.insn_off.index());
    let mut later =
        rows.filter(|idx| is_header(&first) && program.function_range(start).contains(idx));
    let own = |idx| program.source_place(idx).filter(|place| !is_header(place));
    Some(later.find_map(own).unwrap_or(first))
}

/// Whether a line calls a function that is not the kernel's, or uses a macro with arguments.
fn has_call(text: &str) -> bool {
    let is_of_name = |c: char| c == '_' || c.is_alphanumeric();
    text.match_indices('(').any(|(at, _)| {
        let name = text[..at].rsplit(|c| !is_of_name(c)).next().unwrap_or_default();
        let is_of_kernel = HelperId::from_name(name).is_some();
        !name.is_empty() && !NOT_CALLED.contains(&name) && !is_of_kernel
    })
}

#[cfg(test)]
mod tests {
    use super::has_call;

    #[test]
    fn lines_with_calls() {
        for (text, calls) in [
            ("if (parse(data, end, &ip) == 8)", true),
            ("count(&map, key);", true),
            ("if (data + 8 > end)", false),
            ("void *data = (void *)(long)ctx->data;", false),
            ("return (x + 1) * sizeof(y);", false),
        ] {
            assert_eq!(has_call(text), calls, "{text}");
        }
    }
}
