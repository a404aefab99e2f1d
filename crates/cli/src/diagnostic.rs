//! From the library's diagnoses to what `report` prints.

use skep::diagnosis;
use skep::diagnosis::Diagnosis;
use skep::object::SourcePlace;
use skep::program::Program;
use skep_report::{Advice, Diagnostic, Note, Severity, SourceSpot};

/// The diagnosis of a program of an object; of all of it if `prog` is empty.
pub(crate) fn diagnostic(object: &str, prog: &str, told: Diagnosis) -> Diagnostic {
    let severity = match told.severity {
        diagnosis::Severity::Error => Severity::Error,
        diagnosis::Severity::Warning => Severity::Warning,
    };
    let note = |note: diagnosis::Note| Note { text: note.text, at: note.at.map(spot_of) };
    Diagnostic {
        severity,
        rule: told.code,
        message: told.message,
        object: object.to_owned(),
        prog: prog.to_owned(),
        insn_idx: told.insn_idx,
        insn: told.insn,
        at: told.at.map(spot_of),
        notes: told.notes.into_iter().map(note).collect(),
        advice: Some(Advice { title: told.title, help: told.help }),
    }
}

/// A source place, as reports have it.
pub(crate) fn spot_of(place: SourcePlace) -> SourceSpot {
    let SourcePlace { file, line, column, text } = place;
    SourceSpot { file: file.trim_start_matches("./").to_owned(), line, column, text }
}

/// The source line of an insn; `None` without line info.
pub(crate) fn source_spot(program: &Program, idx: usize) -> Option<SourceSpot> {
    program.source_place(idx).map(spot_of)
}
