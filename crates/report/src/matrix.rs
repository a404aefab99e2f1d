//! `Matrix`: programs by kernels: which kernel accepts which program, and why not.

use crate::diagnostic::{Advice, Diagnostic, Note, Severity, SourceSpot};
use serde::Serialize;

/// A column: a kernel. As JSON, it is the `kernel` of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MatrixKernel {
    /// Heading.
    pub name: String,
    /// Its `uname -r`.
    pub release: String,
    /// The source of its features: `asked`, `table` or `file`.
    pub source: &'static str,
    /// Whether it was tested itself; otherwise its heading is marked. In JSON, `promise` says it.
    #[serde(skip)]
    pub is_tested: bool,
    /// How reliable "accepted" is.
    pub promise: String,
}

/// The mark of kernels that were not tested; the line below the table says it in words.
const NOT_TESTED: &str = "*";

impl MatrixKernel {
    /// Its name, with a mark if it was not tested.
    pub fn heading(&self) -> String {
        format!("{}{}", self.name, self.mark())
    }

    /// What results for it are worth, in one line.
    pub fn line(&self) -> String {
        let MatrixKernel { name, release, promise, .. } = self;
        match release.starts_with(name) {
            true => format!("{release}{}: {promise}", self.mark()),
            false => format!("{name}{} ({release}): {promise}", self.mark()),
        }
    }

    fn mark(&self) -> &'static str {
        if self.is_tested { "" } else { NOT_TESTED }
    }
}

/// A cell's verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellVerdict {
    /// It loads.
    Accepted,
    /// It does not.
    Refused,
    /// No verdict.
    NotKnown,
}

impl CellVerdict {
    pub(crate) const ALL: [CellVerdict; 3] =
        [CellVerdict::Accepted, CellVerdict::Refused, CellVerdict::NotKnown];

    /// In a cell.
    pub(crate) fn text(self) -> &'static str {
        match self {
            CellVerdict::Accepted => "ok",
            CellVerdict::Refused => "refused",
            CellVerdict::NotKnown => "?",
        }
    }

    /// In words.
    pub(crate) fn name(self) -> &'static str {
        match self {
            CellVerdict::Accepted => "accepted",
            CellVerdict::Refused => "refused",
            CellVerdict::NotKnown => "not known",
        }
    }
}

/// Why a cell is not `ok`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellReason {
    /// Stable short name of the kind of rejection.
    pub rule: String,
    /// In words.
    pub message: String,
    /// The insn.
    pub insn_idx: Option<usize>,
    /// Its source line.
    pub at: Option<SourceSpot>,
    /// The verifier rule that decides, if a newer kernel accepts the program.
    pub decided_by: Option<DecidingRule>,
    /// The meaning and the advice, from the catalogue of rejections.
    pub advice: Option<Advice>,
}

/// A verifier rule of newer kernels that accept what an older one rejects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecidingRule {
    /// Its stable name.
    pub name: String,
    /// What it says.
    pub text: String,
    /// Whether the older kernel has it, and the newer one does not.
    pub ceased: bool,
    /// Since when, or until when, in words.
    pub when: Option<String>,
    /// All of that as a sentence.
    pub line: String,
}

/// A program on a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatrixCell {
    /// Whether it loads.
    pub verdict: CellVerdict,
    /// Why not.
    pub reason: Option<CellReason>,
}

/// A program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatrixRow {
    /// Object file, as the user named it.
    pub object: String,
    /// Program name.
    pub prog: String,
    /// The most recent kernel feature that it needs: `bpf_loop: helper since 5.17`.
    pub newest: Option<String>,
    /// One per kernel, in column order.
    pub cells: Vec<MatrixCell>,
}

/// Programs by kernels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matrix {
    /// Columns.
    pub kernels: Vec<MatrixKernel>,
    /// Rows; each has as many cells as there are columns.
    pub rows: Vec<MatrixRow>,
}

impl CellReason {
    /// The first line of the message that says something, or the rule; with its source location
    /// and the rule that decides.
    pub fn line(&self) -> String {
        let message = self.message.lines().find(|line| !line.trim().is_empty());
        let mut line = message.unwrap_or(&self.rule).to_owned();
        if let Some(at) = &self.at {
            line += &format!(" ({}:{})", at.file.trim_start_matches("./"), at.line);
        }
        if let Some(rule) = &self.decided_by {
            line = format!("{line}; {}", rule.line);
        }
        line
    }
}

fn rule_note(reason: &CellReason) -> Vec<Note> {
    let note = |rule: &DecidingRule| Note { text: rule.line.clone(), at: None };
    reason.decided_by.iter().map(note).collect()
}

impl CellReason {
    /// The message, or the rule if there is none.
    pub(crate) fn text(&self) -> &str {
        let message = self.message.trim_end();
        if message.is_empty() { &self.rule } else { message }
    }
}

impl MatrixRow {
    /// Whether every kernel accepts it.
    pub(crate) fn is_accepted(&self) -> bool {
        self.cells.iter().all(|cell| cell.verdict == CellVerdict::Accepted)
    }

    /// The reasons, each with the columns to which it applies.
    pub(crate) fn reasons(&self) -> Vec<(&CellReason, Vec<usize>)> {
        let mut found: Vec<(&CellReason, Vec<usize>)> = Vec::new();
        for (column, cell) in self.cells.iter().enumerate() {
            let Some(reason) = &cell.reason else { continue };
            match found.iter_mut().find(|(known, _)| known.line() == reason.line()) {
                Some((_, columns)) => columns.push(column),
                None => found.push((reason, vec![column])),
            }
        }
        found
    }
}

impl Matrix {
    /// The reasons of a row as text; each names its kernels, unless there is only one.
    pub(crate) fn whys(&self, row: &MatrixRow) -> Vec<String> {
        let reasons = row.reasons();
        let line = |(reason, columns): &(&CellReason, Vec<usize>)| match reasons.len() {
            1 => reason.line(),
            _ => format!("{}: {}", self.names(columns), reason.line()),
        };
        reasons.iter().map(line).collect()
    }

    pub(crate) fn names(&self, columns: &[usize]) -> String {
        let names = columns.iter().filter_map(|&column| self.kernels.get(column));
        names.map(MatrixKernel::heading).collect::<Vec<_>>().join(", ")
    }

    /// How many programs have that verdict on the kernel of a column.
    pub(crate) fn count(&self, verdict: CellVerdict, column: usize) -> usize {
        let of = |row: &&MatrixRow| row.cells.get(column).is_some_and(|it| it.verdict == verdict);
        self.rows.iter().filter(of).count()
    }

    /// One message per reason of each program, for formats that only have messages.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let of_row = |row: &MatrixRow| {
            let of = |(reason, columns): (&CellReason, Vec<usize>)| {
                let is_refused = columns.iter().any(|&column| {
                    row.cells.get(column).is_some_and(|it| it.verdict == CellVerdict::Refused)
                });
                Diagnostic {
                    severity: if is_refused { Severity::Error } else { Severity::Warning },
                    rule: reason.rule.clone(),
                    message: format!("{}: {}", self.names(&columns), reason.text()),
                    object: row.object.clone(),
                    prog: row.prog.clone(),
                    insn_idx: reason.insn_idx,
                    insn: None,
                    at: reason.at.clone(),
                    notes: rule_note(reason),
                    advice: reason.advice.clone(),
                }
            };
            row.reasons().into_iter().map(of).collect::<Vec<_>>()
        };
        self.rows.iter().flat_map(of_row).collect()
    }
}
