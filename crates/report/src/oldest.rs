//! `OldestKernels`: the oldest kernel from which on every kernel accepts a program, and why the one
//! before it does not; as text, Markdown, JSON and GitHub commands.

use crate::diagnostic::{Diagnostic, Severity};
use crate::escape::printable;
use crate::github::{write_github, write_github_at, write_github_notice};
use crate::json_text::{JsonForm, write_json_text};
use crate::markdown::{escaped, write_line};
use crate::matrix::{CellReason, CellVerdict, Matrix, MatrixKernel, MatrixRow};
use crate::matrix_text::cell_json;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// The result for one program, or for all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oldest {
    /// The column of the oldest kernel.
    Kernel(usize),
    /// The newest kernel rejects it.
    None,
    /// It is not known whether the newest kernel accepts it.
    NotKnown,
}

/// The result of one program.
struct Found<'a> {
    row: &'a MatrixRow,
    oldest: Oldest,
    /// The kernel before, or the newest if there is no such kernel, and why it does not accept the
    /// program.
    before: Option<(usize, &'a CellReason)>,
}

/// Programs, each with its oldest kernel.
pub struct OldestKernels<'a> {
    matrix: &'a Matrix,
    /// Columns from the oldest kernel to the newest.
    columns: &'a [usize],
    found: Vec<Found<'a>>,
}

impl<'a> OldestKernels<'a> {
    /// Of a matrix whose `columns` are given from the oldest kernel to the newest.
    pub fn of(matrix: &'a Matrix, columns: &'a [usize]) -> OldestKernels<'a> {
        let found = matrix.rows.iter().map(|row| found(columns, row)).collect();
        OldestKernels { matrix, columns, found }
    }

    /// The oldest kernel from which on every kernel accepts all programs.
    pub fn of_all(&self) -> Oldest {
        let all = || self.found.iter().map(|it| it.oldest);
        if all().any(|it| it == Oldest::None) || self.columns.is_empty() {
            return Oldest::None;
        }
        if all().any(|it| it == Oldest::NotKnown) {
            return Oldest::NotKnown;
        }
        let age = |oldest| self.columns.iter().position(|&it| Oldest::Kernel(it) == oldest);
        let newest = all().filter_map(age).max().unwrap_or_default();
        Oldest::Kernel(self.columns[newest])
    }

    fn name(&self, oldest: Oldest) -> String {
        match oldest {
            Oldest::Kernel(column) => self.matrix.kernels[column].heading(),
            Oldest::None => "none".to_owned(),
            Oldest::NotKnown => "not known".to_owned(),
        }
    }

    fn why(&self, found: &Found<'_>) -> String {
        let Some((column, reason)) = found.before else { return String::new() };
        let kernel = self.matrix.kernels[column].heading();
        let is_known = found.row.cells[column].verdict != CellVerdict::NotKnown;
        let not_known = if is_known { "" } else { " (not known)" };
        format!("{kernel}{not_known}: {}", reason.line())
    }

    /// The kernels that are named, oldest first.
    fn named(&self) -> impl Iterator<Item = &MatrixKernel> {
        let kernel = |oldest| match oldest {
            Oldest::Kernel(column) => Some(column),
            Oldest::None | Oldest::NotKnown => None,
        };
        let before = self.found.iter().filter_map(|it| Some(it.before?.0));
        let oldest = self.found.iter().filter_map(|it| kernel(it.oldest));
        let named: BTreeSet<usize> = before.chain(oldest).chain(kernel(self.of_all())).collect();
        let by_age = self.columns.iter().filter(move |column| named.contains(column));
        by_age.map(|&column| &self.matrix.kernels[column])
    }

    /// Writes a line per program, one about all, and what results for the kernels are worth.
    ///
    /// # Errors
    ///
    /// Only those of `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let row = |found: &Found<'_>| {
            let name = format!("{}: {}", found.row.object, found.row.prog);
            [printable(&name).into_owned(), self.name(found.oldest), self.why(found)]
        };
        let rows: Vec<[String; 3]> = self.found.iter().map(row).collect();
        let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
        let (first, second) = (width(0), width(1));
        for [name, kernel, why] in &rows {
            let line = format!("{name:<first$}  {kernel:<second$}  {}", printable(why));
            writeln!(out, "{}", line.trim_end())?;
        }
        writeln!(out, "all programs: {}", self.name(self.of_all()))?;
        self.named().try_for_each(|kernel| writeln!(out, "{}", kernel.line()))
    }

    /// The same as a Markdown table.
    ///
    /// # Errors
    ///
    /// Only those of `out`.
    pub fn write_markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        let headings = ["Object", "Program", "Oldest kernel", "The one before"].map(str::to_owned);
        write_line(out, headings.into_iter())?;
        write_line(out, std::iter::repeat_n(":--".to_owned(), 4))?;
        for found in &self.found {
            let (object, prog) = (escaped(&found.row.object), escaped(&found.row.prog));
            let (kernel, why) = (escaped(&self.name(found.oldest)), escaped(&self.why(found)));
            write_line(out, [object, prog, kernel, why].into_iter())?;
        }
        writeln!(out, "\nAll programs: {}\n", escaped(&self.name(self.of_all())))?;
        self.named().try_for_each(|kernel| writeln!(out, "- {}", escaped(&kernel.line())))
    }

    /// The same as one JSON object.
    ///
    /// # Errors
    ///
    /// Only those of `out`.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let name = |column: usize| self.matrix.kernels[column].name.as_str();
        let summary = |oldest: Oldest| match oldest {
            Oldest::Kernel(column) => (Some(name(column)), CellVerdict::Accepted.name()),
            Oldest::None => (None, CellVerdict::Refused.name()),
            Oldest::NotKnown => (None, CellVerdict::NotKnown.name()),
        };
        let program = |found: &Found<'_>| {
            let (kernel, verdict) = summary(found.oldest);
            let before = found.before.map(|(column, _)| {
                let mut before = cell_json(&found.row.cells[column]);
                before["kernel"] = Json::from(name(column));
                before
            });
            json!({
                "object": found.row.object,
                "prog": found.row.prog,
                "min_kernel": kernel,
                "verdict": verdict,
                "before": before,
            })
        };
        let (kernel, verdict) = summary(self.of_all());
        let kernels = self.columns.iter().map(|&column| &self.matrix.kernels[column]);
        let document = json!({
            "version": 1,
            "kernels": kernels.collect::<Vec<_>>(),
            "programs": self.found.iter().map(program).collect::<Vec<_>>(),
            "min_kernel": kernel,
            "verdict": verdict,
        });
        write_json_text(out, &document, JsonForm::Pretty)?;
        writeln!(out)
    }

    /// The same as GitHub commands: an error where the newest kernel rejects a program, a warning
    /// where that is not known, and otherwise a notice, at the line that needs the kernel.
    /// `shown` completes a message.
    ///
    /// # Errors
    ///
    /// Only those of `out`.
    pub fn write_github(
        &self,
        out: &mut dyn Write,
        shown: impl Fn(&mut Diagnostic),
    ) -> io::Result<()> {
        for found in &self.found {
            let Some((_, reason)) = found.before else { continue };
            let (severity, begin) = match found.oldest {
                Oldest::Kernel(column) => {
                    let kernel = self.matrix.kernels[column].heading();
                    (None, format!("oldest kernel {kernel}; "))
                }
                Oldest::None => (Some(Severity::Error), String::new()),
                Oldest::NotKnown => (Some(Severity::Warning), String::new()),
            };
            let mut diagnostic = Diagnostic {
                severity: severity.unwrap_or(Severity::Warning),
                rule: reason.rule.clone(),
                message: format!("{begin}{}", self.why(found)),
                object: found.row.object.clone(),
                prog: found.row.prog.clone(),
                insn_idx: reason.insn_idx,
                insn: None,
                at: reason.at.clone(),
                notes: Vec::new(),
                advice: None,
            };
            shown(&mut diagnostic);
            match severity {
                Some(_) => write_github(out, &[diagnostic])?,
                None => write_github_at(out, "notice", &diagnostic)?,
            }
        }
        let all = format!("all programs: {}", self.name(self.of_all()));
        write_github_notice(out, "oldest kernel", &all)?;
        let mut untested = self.named().filter(|kernel| !kernel.is_tested);
        untested.try_for_each(|it| write_github_notice(out, &it.heading(), &it.line()))
    }
}

fn found<'a>(columns: &[usize], row: &'a MatrixRow) -> Found<'a> {
    let mut found = Found { row, oldest: Oldest::NotKnown, before: None };
    for &column in columns.iter().rev() {
        let Some(cell) = row.cells.get(column) else { break };
        if cell.verdict == CellVerdict::Accepted {
            found.oldest = Oldest::Kernel(column);
            continue;
        }
        if found.oldest == Oldest::NotKnown && cell.verdict == CellVerdict::Refused {
            found.oldest = Oldest::None;
        }
        found.before = cell.reason.as_ref().map(|reason| (column, reason));
        break;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::SourceSpot;
    use crate::matrix::MatrixCell;

    fn matrix(programs: &[(&str, [CellVerdict; 3])]) -> Matrix {
        let kernel = |(name, is_tested): (&str, bool)| MatrixKernel {
            name: name.into(),
            release: format!("{name}.0"),
            source: "asked",
            is_tested,
            promise: "half of it".into(),
        };
        let cell = |verdict: CellVerdict| MatrixCell {
            verdict,
            reason: (verdict != CellVerdict::Accepted).then(|| CellReason {
                rule: "rule".into(),
                message: "no way".into(),
                insn_idx: None,
                at: Some(SourceSpot {
                    file: "a.c".into(),
                    line: 7,
                    column: std::num::NonZeroU32::new(1),
                    text: "".into(),
                }),
                decided_by: None,
                advice: None,
            }),
        };
        let row = |&(prog, cells): &(&str, [CellVerdict; 3])| MatrixRow {
            object: "a.o".into(),
            prog: prog.into(),
            newest: None,
            cells: cells.map(cell).to_vec(),
        };
        Matrix {
            kernels: [("7.3", true), ("5.10", true), ("6.6", false)].map(kernel).to_vec(),
            rows: programs.iter().map(row).collect(),
        }
    }

    use CellVerdict::{Accepted as Ok, NotKnown as Open, Refused as No};
    const BY_AGE: [usize; 3] = [1, 2, 0];

    fn written(write: impl Fn(&mut Vec<u8>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_is_not_known_is_not_none() {
        let all = |programs: &[(&str, [CellVerdict; 3])]| {
            OldestKernels::of(&matrix(programs), &BY_AGE).of_all()
        };
        assert_eq!(all(&[("a", [Ok, Ok, Ok])]), Oldest::Kernel(1));
        assert_eq!(all(&[("a", [Ok, Ok, Ok]), ("b", [Ok, Ok, No])]), Oldest::Kernel(0));
        assert_eq!(all(&[("a", [Ok, No, Ok]), ("b", [Open, Ok, Ok])]), Oldest::NotKnown);
        assert_eq!(all(&[("a", [No, Ok, Ok]), ("b", [Open, Ok, Ok])]), Oldest::None);
    }

    #[test]
    fn rows_say_what_is_not_tested_and_what_is_not_known() {
        let matrix = matrix(&[
            ("all", [Ok, Ok, Ok]),
            ("late", [Ok, No, Ok]),
            ("later", [Ok, Ok, Open]),
            ("never", [No, Ok, Ok]),
            ("open", [Open, Ok, Ok]),
        ]);
        let oldest = OldestKernels::of(&matrix, &BY_AGE);
        let expected = "\
a.o: all    5.10
a.o: late   6.6*       5.10: no way (a.c:7)
a.o: later  7.3        6.6* (not known): no way (a.c:7)
a.o: never  none       7.3: no way (a.c:7)
a.o: open   not known  7.3 (not known): no way (a.c:7)
all programs: none
5.10.0: half of it
6.6.0*: half of it
7.3.0: half of it
";
        assert_eq!(written(|out| oldest.write(out)), expected);
        let text = written(|out| oldest.write_markdown(out));
        assert!(text.contains("| a.o | late | 6.6\\* | 5.10: no way (a.c:7) |\n"), "{text}");
        let text = written(|out| oldest.write_github(out, |_| {}));
        let expected = "\
::notice file=a.c,line=7,col=1,title=oldest kernel 6.6*; 5.10%3A no way (a.c%3A7)::late%0Acode: rule
::notice file=a.c,line=7,col=1,title=oldest kernel 7.3; 6.6* (not known)%3A no way (a.c%3A7)::later%0Acode: rule
::error file=a.c,line=7,col=1,title=7.3%3A no way (a.c%3A7)::never%0Acode: rule
::warning file=a.c,line=7,col=1,title=7.3 (not known)%3A no way (a.c%3A7)::open%0Acode: rule
::notice title=oldest kernel::all programs: none
::notice title=6.6*::6.6.0*: half of it
";
        assert_eq!(text, expected);
        let json = written(|out| oldest.write_json(out));
        let json: Json = serde_json::from_str(&json).unwrap();
        assert_eq!(json["programs"][1]["min_kernel"], "6.6");
        assert_eq!(json["programs"][1]["before"]["kernel"], "5.10");
        assert_eq!(json["programs"][3]["verdict"], "refused");
        assert_eq!(json["programs"][4]["verdict"], "not known");
        assert_eq!((&json["min_kernel"], &json["verdict"]), (&Json::Null, &Json::from("refused")));
    }
}
