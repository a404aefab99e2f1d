//! What the catalogue says about a code.

use super::note::Note;
use crate::catalogue;

/// What a kind of refusal means, and what to do.
pub(super) struct Advice {
    pub(super) title: String,
    pub(super) help: String,
}

impl Advice {
    /// The catalogue's advice for a code. `names` returns the source's name of an object.
    pub(super) fn of(
        code: &str,
        message: &str,
        notes: &[Note],
        names: impl Fn(&str) -> Option<String>,
    ) -> Advice {
        let Some(section) = catalogue::section(code) else {
            let title = message.lines().next().unwrap_or(code).to_owned();
            return Advice { title, help: String::new() };
        };
        let mut told = message.to_owned();
        for note in notes {
            told = told + "\n" + &note.text;
        }
        Advice { title: section.title.to_owned(), help: section.help_for(&told, names) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelled_extern_is_to_be_corrected() {
        let message = "extern (func ksym) 'bpf_rcu_read_lok': not found in kernel BTF";
        let help = |notes: &[Note]| Advice::of("load_error_extern", message, notes, |_| None).help;
        let text = "did you mean `bpf_rcu_read_lock`?".to_owned();
        assert!(help(&[Note { text, at: None }]).starts_with("Correct the name, "));
        assert!(help(&[]).starts_with("Declare the extern `__weak`"));
    }
}
