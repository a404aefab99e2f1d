//! One message about one program: the content of a `skep check` result, independent of the output
//! format.

use crate::escape::printable;
use std::num::NonZeroU32;

/// The severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The program is rejected.
    Error,
    /// No verdict: not modelled yet.
    Warning,
}

impl Severity {
    /// As in SARIF and GitHub commands.
    pub fn text(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// A source location, from BTF line info.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceSpot {
    /// File name as the compiler wrote it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1, if known.
    pub column: Option<NonZeroU32>,
    /// The text of the line; may be empty.
    pub text: String,
}

impl SourceSpot {
    /// The column as JSON has it: 0 if unknown.
    pub(crate) fn column_or_zero(&self) -> u32 {
        self.column.map_or(0, NonZeroU32::get)
    }
}

/// A note under the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The note: what a register held, what an insn did.
    pub text: String,
    /// The location, if it belongs to a line.
    pub at: Option<SourceSpot>,
}

impl Note {
    /// Text and place in one line. The line of the source says more than the insn, if it is not
    /// that of `primary` again, and no inline assembly.
    pub(crate) fn line(&self, primary: Option<&SourceSpot>) -> String {
        let Some(at) = &self.at else { return self.text.clone() };
        let place = format!("{}:{}", at.file, at.line);
        let source = at.text.trim();
        let is_shown = primary.is_some_and(|it| it.file == at.file && it.line == at.line);
        let is_assembly = ["asm ", "asm(", "__asm__"].iter().any(|it| source.starts_with(it));
        let is_source = !source.is_empty() && !is_assembly;
        match self.text.rsplit_once(" insn ") {
            Some((says, insn)) if is_source && !is_shown && insn.contains(": ") => {
                let idx = insn.split(':').next().unwrap_or(insn);
                format!("{says} `{}` ({place}, insn {idx})", shortened(source))
            }
            // The place stands above.
            _ if is_shown => self.text.clone(),
            _ => format!("{} ({place})", self.text),
        }
    }
}

/// The beginning of a line of source, as far as it is of use in a remark.
fn shortened(source: &str) -> String {
    const SHOWN: usize = 60;
    let source = source.split_whitespace().collect::<Vec<_>>().join(" ");
    match source.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}...", source[..at].trim_end()),
        None => source,
    }
}

/// What a kind of refusal means to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    /// The title: what is wrong.
    pub title: String,
    /// The advice, in one line.
    pub help: String,
}

/// Codes whose messages are skep's own words, not those of the kernel or the loader.
const OURS: [&str; 5] =
    ["unsupported", "not-on-this-kernel", "not-opened", "out-of-memory", "internal-error"];

/// A message about a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Rejected, or not modelled.
    pub severity: Severity,
    /// Stable short name of the kind of rejection (`rule` in SARIF); `unsupported` if not modelled.
    pub rule: String,
    /// The verifier's words, or the loader's.
    pub message: String,
    /// Object file, as the user named it.
    pub object: String,
    /// Program name; empty if it is about the whole object.
    pub prog: String,
    /// Index of the offending insn in the program.
    pub insn_idx: Option<usize>,
    /// The offending insn in the kernel's notation.
    pub insn: Option<String>,
    /// The source line that the insn belongs to.
    pub at: Option<SourceSpot>,
    /// What was known, since when; oldest first.
    pub notes: Vec<Note>,
    /// The meaning and the advice, from the catalogue of rejections.
    pub advice: Option<Advice>,
}

impl Diagnostic {
    /// What is wrong, with the program's name: the catalogue's title, or else the first line of the
    /// message.
    pub(crate) fn headline(&self) -> String {
        match self.prog.as_str() {
            "" => self.title().to_owned(),
            prog => format!("{}: {}", printable(prog), self.title()),
        }
    }

    /// The headline without the program's name.
    pub(crate) fn title(&self) -> &str {
        let first = self.message.lines().next().unwrap_or_default();
        self.advice.as_ref().map_or(first, |advice| &advice.title)
    }

    /// The message, if it is not the headline, and its origin.
    pub(crate) fn said(&self) -> Option<(&'static str, &str)> {
        let first = self.message.lines().next().unwrap_or_default();
        if self.title() == first {
            let others = self.message.get(first.len()..).unwrap_or_default().trim_start();
            let is_kernels = self.advice.is_some() && !OURS.contains(&self.rule.as_str());
            return match others {
                // The message is the title where the kernel writes none.
                "" => is_kernels.then_some(("kernel", "(no message)")),
                others => Some(("note", others)),
            };
        }
        match (self.message.strip_prefix("load error: "), self.rule.as_str()) {
            (Some(loaders), _) => Some(("loader", loaders)),
            (None, rule) if rule.starts_with("load_error_") => Some(("loader", &self.message)),
            (None, rule) if OURS.contains(&rule) => Some(("note", &self.message)),
            (None, _) => Some(("kernel", &self.message)),
        }
    }

    /// The message, the notes and the insn as lines of text, for formats without structure.
    pub(crate) fn details(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some((who, message)) = self.said() {
            let mut said = message.lines();
            lines.extend(said.next().map(|first| format!("{who}: {first}")));
            lines.extend(said.map(str::to_owned));
        }
        if let (Some(idx), Some(insn)) = (self.insn_idx, &self.insn) {
            lines.push(format!("at insn {idx}: {insn}"));
        }
        lines.extend(self.notes.iter().map(|note| note.line(self.at.as_ref())));
        lines.extend(self.advice.as_ref().map(|advice| format!("help: {}", advice.help)));
        lines
    }
}
