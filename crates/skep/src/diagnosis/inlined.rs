//! Code that was inlined from another file, such as a header: the program's own line beside it.

use crate::diagnosis::note::Note;
use crate::insn_text::insn_with_map;
use crate::program::Program;
use crate::{Step, WalkedPath};

/// Words before `(` that are not functions.
const NOT_CALLED: [&str; 7] = ["if", "while", "for", "switch", "return", "sizeof", "SEC"];

/// The line of the program's own file that leads to the insn at `shown`, or goes on after it, if
/// that insn's line is of another file.
pub(super) fn note(shown: usize, path: &WalkedPath, program: &Program) -> Option<Note> {
    let start = program.function_start(shown);
    let own = program.source_place(start)?.file;
    if program.source_place(shown)?.file == own {
        return None;
    }
    let place_of_own = |idx: usize| program.source_place(idx).filter(|place| place.file == own);
    let walked = path.steps().rev().filter_map(|step| match step {
        Step::Insn { insn_idx, frame } if *frame == path.frame() => Some(*insn_idx as usize),
        _ => None,
    });
    let mut before = walked.skip_while(|&idx| idx != shown).filter(|&idx| idx >= start);
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

/// Whether a line calls a function, or uses a macro with arguments.
fn has_call(text: &str) -> bool {
    let is_of_name = |c: char| c == '_' || c.is_alphanumeric();
    text.match_indices('(').any(|(at, _)| {
        let name = text[..at].rsplit(|c| !is_of_name(c)).next().unwrap_or_default();
        !name.is_empty() && !NOT_CALLED.contains(&name)
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
