//! `Diagnosis`: why a program is not accepted, as a person needs it: what is wrong in plain words,
//! the source line to look at, what was known there since when, and what to do about it.
//!
//! [`Session::diagnose`] makes it from a verification, [`Session::diagnose_load`] from a load error.
//! Nothing here knows how it is shown.
//!
//! Reading order: `refused` (what is said of a refusal, in order), `notes`, `history` (the values of
//! registers), `missing_check` (the comparison that was meant), `held`, `budget`; `dataflow` is what
//! they know of a path.

mod budget;
mod ctx_field;
mod dataflow;
mod declared;
mod externs;
mod held;
mod history;
mod load;
mod missing_check;
mod near;
mod notes;
mod refused;
mod rule;

#[doc(hidden)]
pub use rule::DecidingRule;

use crate::Session;
use crate::catalogue;
use crate::verification::{Refusal, Verdict, Verification, VerifyOptions};
use skep_btf::Btf;
use skep_object::ObjectProgram;
use skep_program::{Program, SourcePlace};
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

/// A remark on a diagnosis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What a register held, or what an insn did.
    pub text: String,
    /// The source line that it is about, if it is about one.
    pub at: Option<SourcePlace>,
}

impl Note {
    /// Whether another note is about the same insn: `... insn 5: (95) exit`.
    fn is_about_insn_of(&self, other: &Note) -> bool {
        let insn = |note: &Note| {
            let (_, insn) = note.text.rsplit_once(" insn ")?;
            Some(insn.to_owned())
        };
        insn(self).is_some() && insn(self) == insn(other)
    }
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
    /// What the catalogue says of a code, such as that of a program without a verdict.
    pub fn of_code(severity: Severity, code: &str, message: &str) -> Diagnosis {
        Diagnosis::advised(severity, code, message, Advice::of(code, message, &[], |_| None))
    }

    fn advised(severity: Severity, code: &str, message: &str, advice: Advice) -> Diagnosis {
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

/// The text, with its place.
impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.at {
            Some(at) => write!(f, "{} ({}:{})", self.text, at.file, at.line),
            None => f.write_str(&self.text),
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

impl Session {
    /// Explains why a program is not accepted; `None` if it is.
    ///
    /// `verification` is that of `program` by this session with `options`. If it is a refusal and
    /// kept no path ([`VerifyOptions::path_bytes_max`]), the program is verified again to get it;
    /// so it is to measure where the insns went if there are too many
    /// ([`Verification::is_over_insn_limit`]).
    pub fn diagnose(
        &self,
        program: &Program,
        verification: &Verification,
        options: &VerifyOptions,
    ) -> Option<Diagnosis> {
        let without = |code, message: &str| Diagnosis::of_code(Severity::Warning, code, message);
        Some(match &verification.verdict {
            Verdict::Accepted(_) => return None,
            Verdict::Rejected(refusal) => {
                refused::diagnosis(self, program, (refusal, verification), options)
            }
            Verdict::Unsupported(what) => {
                without("unsupported", &format!("not supported yet: {what}"))
            }
            Verdict::OutOfMemory => {
                let bytes = verification.counts.mem_peak_bytes;
                without("out-of-memory", &format!("needs at least {bytes} bytes of memory"))
            }
            Verdict::Bug(what) => without("internal-error", what),
        })
    }

    /// Explains why a program of an object cannot be loaded; `None` if it can. `btf` is the
    /// object's.
    pub fn diagnose_load(&self, entry: &ObjectProgram, btf: Option<&Btf>) -> Option<Diagnosis> {
        let error = entry.program.as_ref().err()?;
        Some(load::diagnosis(self, &entry.name, error, btf))
    }
}

impl Refusal {
    /// The message; if the kernel writes none, why it rejects the program, or the title of the code.
    #[doc(hidden)]
    pub fn said(&self, because: Option<&str>) -> String {
        let title = catalogue::section(&self.kind).map(|section| section.title);
        let says = |text: &&str| !text.trim().is_empty();
        let text = [Some(self.message.as_str()), because, title].into_iter().flatten().find(says);
        text.unwrap_or(&self.kind).trim_end().to_owned()
    }
}

/// What a kind of refusal means, and what to do.
struct Advice {
    title: String,
    help: String,
}

impl Advice {
    /// The catalogue's advice for a code. `names` returns the source's name of an object.
    fn of(
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

    /// `bpf(2)` says no more than `EINVAL` of some programs, whose log is empty.
    #[test]
    fn no_reason_is_empty() {
        let told = |kind: &str, message: &str, because| {
            let refusal = Refusal {
                insn_idx: None,
                load: None,
                kind: kind.to_owned(),
                registers: Vec::new(),
                errno: 22,
                message: message.to_owned(),
            };
            refusal.said(because)
        };
        assert_eq!(told("leaked-reference", "said\n", Some("why")), "said");
        assert_eq!(told("leaked-reference", "\n", Some("why")), "why");
        assert_eq!(told("no-such-code", "", None), "no-such-code");
        for section in catalogue::sections() {
            assert!(!section.title.trim().is_empty(), "{:?}", section.codes);
            for code in &section.codes {
                assert!(!told(code, "", Some(" ")).is_empty(), "{code}");
            }
        }
    }
}
