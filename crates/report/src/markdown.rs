//! Tables as Markdown, for comments on pull requests.

use crate::compare;
use crate::escape::printable;
use crate::join::JoinedRow;
use crate::layout::Column;
use crate::row::Row;
use crate::spec::EmitSpec;
use crate::table;
use std::io::{self, Write};

/// Writes rows as a Markdown table.
///
/// # Errors
///
/// Only those of `out`.
pub fn write_markdown(out: &mut dyn Write, rows: &[Row], emit: &EmitSpec) -> io::Result<()> {
    let cells: Vec<_> = rows.iter().map(|row| table::cells(row, emit)).collect();
    write_cells(out, &table::columns(emit), &cells)
}

/// Writes a comparison as a Markdown table.
///
/// # Errors
///
/// Only those of `out`.
pub fn write_compare_markdown(
    out: &mut dyn Write,
    rows: &[JoinedRow<'_>],
    emit: &EmitSpec,
) -> io::Result<()> {
    let cells: Vec<_> = rows.iter().map(|row| compare::cells(row, emit)).collect();
    write_cells(out, &compare::columns(emit), &cells)
}

fn write_cells(out: &mut dyn Write, columns: &[Column], cells: &[Vec<String>]) -> io::Result<()> {
    let headings = columns.iter().map(|column| format!("{}{}", column.header, column.suffix));
    write_line(out, headings)?;
    let rule = |column: &Column| if column.left_aligned { ":--" } else { "--:" }.to_owned();
    write_line(out, columns.iter().map(rule))?;
    cells.iter().try_for_each(|row| write_line(out, row.iter().map(|cell| escaped(cell))))
}

pub(crate) fn write_line(
    out: &mut dyn Write,
    cells: impl Iterator<Item = String>,
) -> io::Result<()> {
    for cell in cells {
        write!(out, "| {cell} ")?;
    }
    writeln!(out, "|")
}

/// A cell's text, with Markdown and HTML syntax escaped.
pub(crate) fn escaped(cell: &str) -> String {
    let mut text = String::with_capacity(cell.len());
    for c in printable(cell).chars() {
        match c {
            '<' => text.push_str("&lt;"),
            '&' => text.push_str("&amp;"),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '@' | '#' => text.extend(['\\', c]),
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::join;
    use crate::row::RowVerdict;
    use crate::stat::Stat;

    #[test]
    fn tables() {
        let rows = [
            Row::new("a|b.o", "on_<exec>", RowVerdict::Success).with(Stat::TotalInsns, 7),
            Row::new("a.o", "p", RowVerdict::Failure),
        ];
        let emit = EmitSpec::parse("file,prog,insns").unwrap();
        let mut out = Vec::new();
        write_markdown(&mut out, &rows, &emit).unwrap();
        let expected = "\
| File | Program | Insns |
| :-- | :-- | --: |
| a\\|b.o | on\\_&lt;exec> | 7 |
| a.o | p | 0 |
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);

        let mut out = Vec::new();
        let joined = join(&rows[1..], &rows[1..]);
        write_compare_markdown(&mut out, &joined, &EmitSpec::parse("prog,verdict").unwrap())
            .unwrap();
        let expected = "\
| Program | Verdict (A) | Verdict (B) | Verdict (DIFF) |
| :-- | :-- | :-- | :-- |
| p | failure | failure | MATCH |
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
