//! `Note`: a remark on a diagnosis, and the line that it is about.

use skep_program::SourcePlace;
use std::fmt;

/// `1 byte`, `2 bytes`.
pub(super) fn counted(count: impl ToString, what: &str) -> String {
    let count = count.to_string();
    let plural = if count == "1" { "" } else { "s" };
    count + " " + what + plural
}

/// A remark on a diagnosis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What a register held, or what an insn did.
    pub text: String,
    /// The source line that it is about, if it is about one.
    pub at: Option<SourcePlace>,
}

impl Note {
    /// Whether another note is about the same line.
    pub(super) fn is_at_line_of(&self, other: &Note) -> bool {
        let line = |note: &Note| note.at.as_ref().map(|at| (at.file.clone(), at.line));
        line(self).is_some() && line(self) == line(other)
    }

    /// Whether another note is about the same insn: `... insn 5: (95) exit`.
    pub(super) fn is_about_insn_of(&self, other: &Note) -> bool {
        let insn = |note: &Note| {
            let (_, insn) = note.text.rsplit_once(" insn ")?;
            Some(insn.to_owned())
        };
        insn(self).is_some() && insn(self) == insn(other)
    }
}

/// The text, with its place.
impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.at {
            Some(at) => write!(f, "{} ({}:{})", self.text, at.file, at.line),
            None => f.write_str(&self.text),
        }
    }
}
