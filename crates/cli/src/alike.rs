//! Load errors of several programs of an object that differ in nothing but the program: the text
//! output prints the first, which names the others.

use skep_report::{Diagnostic, Note};
use std::collections::HashMap;

/// Maximum number of names in the note.
const NAMED: usize = 3;

/// Adds to each first one which others it stands for; returns for each whether an earlier one
/// stands for it.
pub(crate) fn fold(told: &mut [Option<&mut Diagnostic>]) -> Vec<bool> {
    let mut by_message: HashMap<String, usize> = HashMap::new();
    let mut stands_for: HashMap<usize, Vec<String>> = HashMap::new();
    let mut is_later = vec![false; told.len()];
    for (at, later) in is_later.iter_mut().enumerate() {
        let Some(this) = told[at].as_deref() else { continue };
        let first = *by_message.entry(this.message.clone()).or_insert(at);
        *later = first != at && told[first].as_deref().is_some_and(|it| is_same(it, this));
        if *later {
            stands_for.entry(first).or_default().push(this.prog.clone());
        }
    }
    for (first, others) in stands_for {
        if let Some(first) = &mut told[first] {
            first.notes.push(Note { text: note(&others), at: None });
        }
    }
    is_later
}

fn is_same(first: &Diagnostic, other: &Diagnostic) -> bool {
    let place = |it: &Diagnostic| (it.insn_idx, it.at.clone());
    first.object == other.object
        && first.rule == other.rule
        && place(first) == place(other)
        && first.notes == other.notes
}

/// The last note: for which programs this is the result, too.
fn note(others: &[String]) -> String {
    let named: Vec<String> = others.iter().take(NAMED).map(|prog| format!("`{prog}`")).collect();
    let more = match others.len() - named.len() {
        0 => String::new(),
        1 => " and 1 more program".to_owned(),
        n => format!(" and {n} more programs"),
    };
    format!("the same holds for {}{more}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_report::Severity;

    fn told(prog: &str, message: &str) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            rule: "load_error_open".to_owned(),
            message: message.to_owned(),
            object: "a.o".to_owned(),
            prog: prog.to_owned(),
            insn_idx: None,
            insn: None,
            at: None,
            notes: Vec::new(),
            advice: None,
        }
    }

    #[test]
    fn one_error_of_many_programs_is_told_once() {
        let mut all: Vec<Diagnostic> = ["a", "b", "c", "d", "e", "f"].map(|p| told(p, "no")).into();
        all.insert(2, told("other", "other"));
        let mut shown: Vec<_> = all.iter_mut().map(Some).collect();
        shown.push(None);
        let later = fold(&mut shown);
        assert_eq!(later, [false, true, false, true, true, true, true, false]);
        let note = &all[0].notes[0].text;
        assert_eq!(note, "the same holds for `b`, `c`, `d` and 2 more programs");
        assert!(all[1..].iter().all(|it| it.notes.is_empty()));
    }

    #[test]
    fn another_place_is_another_error() {
        let (mut one, mut two) = (told("a", "no"), told("b", "no"));
        two.insn_idx = Some(1);
        assert_eq!(fold(&mut [Some(&mut one), Some(&mut two)]), [false, false]);
        assert!(one.notes.is_empty() && two.notes.is_empty());
    }
}
