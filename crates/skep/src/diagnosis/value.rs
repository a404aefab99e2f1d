//! `Diagnosis`, as a value.

use super::advice::Advice;
use super::note::Note;
use crate::verification::Refusal;
use skep_program::SourcePlace;
use std::fmt;

/// Why a program is not accepted, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnosis {
    /// Whether it is refused, or has no verdict.
    pub severity: Severity,
    /// Stable name of the kind of fault, such as `beyond-packet`: a code of the
    /// [catalogue](crate::catalogue).
    pub code: String,
    /// What is wrong, in plain words: the catalogue's title.
    pub title: String,
    /// The kernel's words, or those of the loader, which begin with `load error: `; if there are
    /// none, why the program is refused.
    pub message: String,
    /// The insn to look at. It need not be the one that the kernel refuses: of a lock that is still
    /// held at the end it is the branch that leaves without unlocking.
    pub insn_idx: Option<usize>,
    /// That insn in the kernel's notation, if it shows anything.
    pub insn: Option<String>,
    /// The source line of that insn, or of what cannot be loaded.
    pub at: Option<SourcePlace>,
    /// What was known, and since when.
    pub notes: Vec<Note>,
    /// What to do, in one line.
    pub help: String,
    /// What a name that the kernel or the loader does not know may have been meant to be; the
    /// nearest first.
    pub similar_names: Vec<String>,
}

/// The severity of a diagnosis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The kernel or the loader refuses the program.
    Error,
    /// There is no verdict.
    Warning,
}

impl Diagnosis {
    /// What the catalogue says about a code, such as that of a program without a verdict.
    pub fn of_code(severity: Severity, code: &str, message: &str) -> Diagnosis {
        Diagnosis::advised(severity, code, message, Advice::of(code, message, &[], |_| None))
    }

    pub(super) fn advised(
        severity: Severity,
        code: &str,
        message: &str,
        advice: Advice,
    ) -> Diagnosis {
        let (code, message) = (code.to_owned(), message.to_owned());
        Diagnosis {
            severity,
            code,
            title: advice.title,
            message,
            insn_idx: None,
            insn: None,
            at: None,
            notes: Vec::new(),
            help: advice.help,
            similar_names: Vec::new(),
        }
    }
}

/// A few lines of text: code and title, the source line, the message, the notes and the help.
impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.title)?;
        if let Some(SourcePlace { file, line, text, .. }) = &self.at {
            write!(f, "\n  {file}:{line}: {}", text.trim())?;
        }
        for line in self.message.lines() {
            write!(f, "\n  {line}")?;
        }
        for note in &self.notes {
            write!(f, "\n  {note}")?;
        }
        match self.help.as_str() {
            "" => Ok(()),
            help => write!(f, "\n  help: {help}"),
        }
    }
}

/// Without what the program and the path to the refusal would tell.
impl From<&Refusal> for Diagnosis {
    fn from(refusal: &Refusal) -> Diagnosis {
        let known = Diagnosis::of_code(Severity::Error, &refusal.kind, &refusal.message);
        Diagnosis { message: refusal.said(None), insn_idx: refusal.insn_idx, ..known }
    }
}
