//! A [`Matrix`] as plain text, Markdown or JSON.

use crate::escape::printable;
use crate::json_text::{JsonForm, write_json_text};
use crate::markdown::{escaped, write_line};
use crate::matrix::{CellVerdict, DecidingRule, Matrix, MatrixCell, MatrixKernel, MatrixRow};
use serde_json::{Map, Value as Json, json};
use std::borrow::Cow;
use std::io::{self, Write};

const PROGRAM: &str = "program";

/// Columns: a name, then cells, then text.
struct Layout {
    name_width: usize,
    widths: Vec<usize>,
}

impl Layout {
    fn of(matrix: &Matrix, rows: &[&MatrixRow], indent: &str) -> Layout {
        let heading = PROGRAM.len().max(CellVerdict::NotKnown.name().len());
        let name = |row: &&MatrixRow| indent.len() + name_of(row).chars().count();
        let refused = CellVerdict::Refused.text().len();
        Layout {
            name_width: rows.iter().map(name).chain([heading]).max().unwrap_or_default(),
            widths: matrix.kernels.iter().map(|it| it.heading().len().max(refused)).collect(),
        }
    }

    /// One line; missing cells are empty.
    fn line(&self, name: &str, cells: impl Iterator<Item = String>, why: &str) -> String {
        let width = self.name_width;
        let mut text = format!("{name:<width$}");
        let cells = cells.chain(std::iter::repeat(String::new()));
        for (cell, width) in cells.zip(&self.widths) {
            text.push_str(&format!("  {cell:>width$}"));
        }
        text.push_str("   ");
        text.push_str(&printable(why));
        text.trim_end().to_owned()
    }
}

/// The program's name; an object that cannot be opened has none.
fn name_of(row: &MatrixRow) -> Cow<'_, str> {
    if row.prog.is_empty() { "(not opened)".into() } else { printable(&row.prog) }
}

/// Writes the matrix as plain text. `only_refused` omits programs that every kernel accepts, and
/// the totals.
///
/// # Errors
///
/// Only those of `out`.
pub fn write_matrix(out: &mut dyn Write, matrix: &Matrix, only_refused: bool) -> io::Result<()> {
    let is_shown = |row: &&MatrixRow| !only_refused || !row.is_accepted();
    let rows: Vec<&MatrixRow> = matrix.rows.iter().filter(is_shown).collect();
    let has_several = rows.windows(2).any(|pair| pair[0].object != pair[1].object);
    let indent = if has_several { "  " } else { "" };
    let layout = Layout::of(matrix, &rows, indent);
    let names = matrix.kernels.iter().map(MatrixKernel::heading);
    writeln!(out, "{}", layout.line(PROGRAM, names, ""))?;
    let mut object = None;
    for row in rows {
        if has_several && object != Some(&row.object) {
            object = Some(&row.object);
            writeln!(out, "{}", printable(&row.object))?;
        }
        let whys = matrix.whys(row);
        let cells = row.cells.iter().map(|cell| cell.verdict.text().to_owned());
        let name = format!("{indent}{}", name_of(row));
        let first = whys.first().map_or("", String::as_str);
        writeln!(out, "{}", layout.line(&name, cells, first))?;
        for why in whys.iter().skip(1) {
            writeln!(out, "{}", layout.line("", std::iter::empty(), why))?;
        }
    }
    if only_refused {
        return Ok(());
    }
    writeln!(out)?;
    for verdict in CellVerdict::ALL {
        let counts = (0..matrix.kernels.len()).map(|it| matrix.count(verdict, it).to_string());
        writeln!(out, "{}", layout.line(verdict.name(), counts, ""))?;
    }
    Ok(())
}

/// Writes the matrix as a Markdown table, followed by the reliability of each column.
///
/// # Errors
///
/// Only those of `out`.
pub fn write_matrix_markdown(out: &mut dyn Write, matrix: &Matrix) -> io::Result<()> {
    let named =
        |cells: Vec<String>| ["Object".to_owned(), "Program".to_owned()].into_iter().chain(cells);
    let names = matrix.kernels.iter().map(|kernel| escaped(&kernel.heading()));
    write_line(out, named(names.chain(["Why not".to_owned()]).collect()))?;
    write_line(out, std::iter::repeat_n(":--".to_owned(), matrix.kernels.len() + 3))?;
    for row in &matrix.rows {
        let whys: Vec<String> = matrix.whys(row).iter().map(|why| escaped(why)).collect();
        let cells = row.cells.iter().map(|cell| cell.verdict.text().to_owned());
        let first = [escaped(&row.object), escaped(&name_of(row))].into_iter();
        write_line(out, first.chain(cells).chain([whys.join("<br>")]))?;
    }
    write_kernels_markdown(out, &matrix.kernels)
}

/// Writes what results for kernels are worth as a Markdown list, to stand below a table.
///
/// # Errors
///
/// Only those of `out`.
pub fn write_kernels_markdown(out: &mut dyn Write, kernels: &[MatrixKernel]) -> io::Result<()> {
    writeln!(out)?;
    kernels.iter().try_for_each(|kernel| writeln!(out, "- {}", escaped(&kernel.line())))
}

/// Writes the matrix as one JSON object: `kernels`, and `programs` with a verdict for each.
///
/// # Errors
///
/// Only those of `out`.
pub fn write_matrix_json(out: &mut dyn Write, matrix: &Matrix) -> io::Result<()> {
    let program = |row: &MatrixRow| {
        let cells = matrix.kernels.iter().zip(&row.cells);
        let verdicts: Map<String, Json> =
            cells.map(|(kernel, cell)| (kernel.name.clone(), cell_json(cell))).collect();
        json!({
            "object": row.object,
            "prog": row.prog,
            "newest_need": row.newest,
            "kernels": verdicts,
        })
    };
    let log = json!({
        "version": 1,
        "kernels": matrix.kernels,
        "programs": matrix.rows.iter().map(program).collect::<Vec<_>>(),
    });
    write_json_text(out, &log, JsonForm::Pretty)?;
    writeln!(out)
}

pub(crate) fn cell_json(cell: &MatrixCell) -> Json {
    let Some(reason) = &cell.reason else { return json!({ "verdict": cell.verdict.name() }) };
    let at = reason.at.as_ref().map(
        |at| json!({ "file": at.file, "line": at.line, "column": at.column_or_zero(), "text": at.text }),
    );
    json!({
        "verdict": cell.verdict.name(),
        "code": reason.rule,
        "title": reason.advice.as_ref().map(|advice| &advice.title),
        "help": reason.advice.as_ref().map(|advice| &advice.help),
        "message": reason.text(),
        "insn_idx": reason.insn_idx,
        "at": at,
        "rule": reason.decided_by.as_ref().map(rule_json),
    })
}

fn rule_json(rule: &DecidingRule) -> Json {
    let (since, until) = if rule.ceased { (None, &rule.when) } else { (Some(&rule.when), &None) };
    json!({ "name": rule.name, "text": rule.text, "since": since, "until": until })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::{Advice, Severity, SourceSpot};
    use crate::matrix::CellReason;

    fn matrix() -> Matrix {
        use CellVerdict::{Accepted, NotKnown, Refused};
        let kernel = |name: &str| MatrixKernel {
            name: name.into(),
            release: format!("{name}.0"),
            source: "asked",
            is_tested: true,
            promise: "half of it".into(),
        };
        let cell = |verdict, message: &str| MatrixCell {
            verdict,
            reason: (verdict != Accepted).then(|| CellReason {
                rule: "rule".into(),
                message: message.into(),
                insn_idx: Some(1),
                at: Some(SourceSpot {
                    file: "./a.c".into(),
                    line: 7,
                    column: std::num::NonZeroU32::new(1),
                    text: "".into(),
                }),
                decided_by: None,
                advice: Some(Advice { title: "Title".into(), help: "Do it.".into() }),
            }),
        };
        let row = |prog: &str, cells| MatrixRow {
            object: "a.o".into(),
            prog: prog.into(),
            newest: None,
            cells,
        };
        Matrix {
            kernels: [kernel("5.10"), kernel("6.1"), kernel("6.12")].into(),
            rows: vec![
                row(
                    "one",
                    vec![cell(Refused, "no|way"), cell(Refused, "no|way"), cell(Accepted, "")],
                ),
                row("two", vec![cell(Refused, "a"), cell(NotKnown, "b"), cell(Accepted, "")]),
                row("three", vec![cell(Accepted, ""), cell(Accepted, ""), cell(Accepted, "")]),
            ],
        }
    }

    fn written(write: impl Fn(&mut Vec<u8>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn one_reason_stands_alone_and_several_name_their_kernels() {
        let expected = "\
program       5.10      6.1     6.12
one        refused  refused       ok   no|way (a.c:7)
two        refused        ?       ok   5.10: a (a.c:7)
                                       6.1: b (a.c:7)
three           ok       ok       ok

accepted         1        1        3
refused          2        1        0
not known        0        1        0
";
        assert_eq!(written(|out| write_matrix(out, &matrix(), false)), expected);
        let quiet = written(|out| write_matrix(out, &matrix(), true));
        assert!(!quiet.contains("three") && !quiet.contains("accepted"), "{quiet}");
    }

    #[test]
    fn markdown_and_json_say_what_the_columns_are_worth() {
        let text = written(|out| write_matrix_markdown(out, &matrix()));
        assert!(
            text.contains("| a.o | one | refused | refused | ok | no\\|way (a.c:7) |"),
            "{text}"
        );
        assert!(text.ends_with("- 6.12.0: half of it\n"), "{text}");
        let json: Json =
            serde_json::from_str(&written(|out| write_matrix_json(out, &matrix()))).unwrap();
        assert_eq!(json["kernels"][1]["promise"], "half of it");
        assert_eq!(json["programs"][1]["kernels"]["6.1"]["verdict"], "not known");
        assert_eq!(json["programs"][0]["kernels"]["5.10"]["at"]["line"], 7);
        assert_eq!(json["programs"][0]["kernels"]["5.10"]["title"], "Title");
        assert_eq!(json["programs"][0]["kernels"]["5.10"]["help"], "Do it.");
    }

    #[test]
    fn a_reason_names_the_rule_that_decides() {
        let mut matrix = matrix();
        let rule = |ceased| DecidingRule {
            name: "links".into(),
            text: "Copies are linked.".into(),
            ceased,
            when: Some("a release after 6.1 and up to 6.12".into()),
            line: "the kernel does not know this rule".into(),
        };
        let reason = |cell: &mut MatrixCell, ceased| {
            cell.reason.iter_mut().for_each(|it| it.decided_by = Some(rule(ceased)));
        };
        matrix.rows[0].cells[..2].iter_mut().for_each(|cell| reason(cell, false));
        reason(&mut matrix.rows[1].cells[0], true);
        let text = written(|out| write_matrix(out, &matrix, false));
        let line = "no|way (a.c:7); the kernel does not know this rule";
        assert!(text.contains(line), "{text}");
        let json: Json =
            serde_json::from_str(&written(|out| write_matrix_json(out, &matrix))).unwrap();
        let rule = |row: usize| json["programs"][row]["kernels"]["5.10"]["rule"].clone();
        assert_eq!(rule(0)["since"], "a release after 6.1 and up to 6.12");
        assert_eq!((&rule(0)["name"], &rule(0)["until"]), (&"links".into(), &Json::Null));
        assert_eq!(rule(1)["since"], Json::Null);
        assert!(json["programs"][1]["kernels"]["6.1"]["rule"].is_null());
    }

    #[test]
    fn a_kernel_that_was_not_tested_is_marked_wherever_it_is_named() {
        let mut matrix = matrix();
        matrix.kernels[1].is_tested = false;
        let text = written(|out| write_matrix(out, &matrix, false));
        assert!(text.starts_with("program       5.10     6.1*     6.12\n"), "{text}");
        assert!(text.contains("   6.1*: b (a.c:7)\n"), "{text}");
        let text = written(|out| write_matrix_markdown(out, &matrix));
        assert!(text.starts_with("| Object | Program | 5.10 | 6.1\\* | 6.12 |"), "{text}");
        assert!(text.contains("\n- 6.1.0\\*: half of it\n"), "{text}");
        assert_eq!(matrix.diagnostics()[0].message, "5.10, 6.1*: no|way");
    }

    #[test]
    fn a_reason_without_a_message_is_its_rule() {
        let mut matrix = matrix();
        for cell in matrix.rows.iter_mut().flat_map(|row| &mut row.cells) {
            cell.reason.iter_mut().for_each(|reason| reason.message = "\n".into());
        }
        let text = written(|out| write_matrix(out, &matrix, true));
        assert_eq!(text.matches("   rule (a.c:7)\n").count(), 2, "{text}");
        assert_eq!(matrix.diagnostics()[0].message, "5.10, 6.1: rule");
        let json = written(|out| write_matrix_json(out, &matrix));
        assert!(json.contains("\"message\": \"rule\""), "{json}");
    }

    #[test]
    fn messages_name_their_kernels() {
        let told = matrix().diagnostics();
        let lines: Vec<_> = told.iter().map(|it| (it.severity, it.message.as_str())).collect();
        let expected = [
            (Severity::Error, "5.10, 6.1: no|way"),
            (Severity::Error, "5.10: a"),
            (Severity::Warning, "6.1: b"),
        ];
        assert_eq!(lines, expected);
    }
}
