//! On which source lines the executed insns were.

use crate::escape::counted;
use crate::layout::write_layout;
use crate::profile::{ProfiledLine, percent, shortened, words_first};
use serde::Serialize;
use std::io::{self, Write};

/// A source line, or an insn without one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExecutedLine {
    /// Which.
    #[serde(flatten)]
    pub line: ProfiledLine,
    /// Number of insns executed there.
    pub insns: u64,
}

/// Writes a table of all rows.
///
/// # Errors
///
/// Only those of `out`.
pub fn write_executed(out: &mut dyn Write, rows: &[ExecutedLine]) -> io::Result<()> {
    let total = rows.iter().fold(0u64, |sum, row| sum.saturating_add(row.insns));
    let cells = rows.iter().map(|ExecutedLine { line, insns }| {
        let (place, text) = (line.place.clone(), shortened(&line.text));
        vec![place, text, insns.to_string(), percent(*insns, total)]
    });
    let columns = words_first(&["Line", "Source", "Insns", "%"], 2);
    write_layout(out, &columns, &cells.collect::<Vec<_>>())?;
    writeln!(out, "{} ran.", counted(total, "insn"))
}
