//! veristat's table layout: columns as wide as their widest cell, two spaces between.

use crate::escape::printable;
use std::io::{self, Write};

const COLUMN_GAP: &str = "  ";

/// A column: its heading in two parts (the second is aligned right: `Insns   (DIFF)`), and the
/// alignment of its cells.
pub(crate) struct Column {
    pub(crate) header: &'static str,
    pub(crate) suffix: &'static str,
    pub(crate) left_aligned: bool,
}

/// Heading, rule, cells, rule; as in veristat, without the second rule if there are no cells.
pub(crate) fn write_layout(
    out: &mut dyn Write,
    columns: &[Column],
    cells: &[Vec<String>],
) -> io::Result<()> {
    let cells: Vec<Vec<_>> =
        cells.iter().map(|r| r.iter().map(|c| printable(c)).collect()).collect();
    let width_of = |(index, column): (usize, &Column)| {
        let cells = cells.iter().filter_map(|row| row.get(index)).map(|c| c.chars().count());
        cells.max().unwrap_or(0).max(column.header.len() + column.suffix.len())
    };
    let widths: Vec<usize> = columns.iter().enumerate().map(width_of).collect();

    let headings = columns.iter().zip(&widths).map(|(column, &width)| {
        let rest = width - column.header.len();
        format!("{}{:>rest$}", column.header, column.suffix)
    });
    write_line(out, headings)?;
    let rule = || widths.iter().map(|&width| "-".repeat(width));
    write_line(out, rule())?;
    for row in &cells {
        let padded = row.iter().zip(columns).zip(&widths).map(|((cell, column), &width)| {
            if column.left_aligned { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        write_line(out, padded)?;
    }
    if cells.is_empty() { Ok(()) } else { write_line(out, rule()) }
}

fn write_line(out: &mut dyn Write, parts: impl Iterator<Item = String>) -> io::Result<()> {
    for (index, part) in parts.enumerate() {
        let gap = if index == 0 { "" } else { COLUMN_GAP };
        write!(out, "{gap}{part}")?;
    }
    writeln!(out)
}
