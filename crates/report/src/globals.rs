//! The global variables of an object, as a table.

use crate::layout::{Column, write_layout};
use std::io::{self, Write};

/// A variable, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobalRow {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: String,
    /// The section it is in.
    pub section: String,
    /// What it holds.
    pub value: String,
    /// How it can be set.
    pub set: &'static str,
    /// Its bytes.
    pub size: u32,
}

/// Writes the table.
///
/// # Errors
///
/// Only those of `out`.
pub fn write_globals(out: &mut dyn Write, rows: &[GlobalRow]) -> io::Result<()> {
    let words = ["Name", "Type", "Section", "Value", "-G takes"];
    let mut columns: Vec<Column> =
        words.map(|header| Column { header, suffix: "", left_aligned: true }).into();
    columns.push(Column { header: "", suffix: "Size", left_aligned: false });
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let words = [&row.name, &row.ty, &row.section, &row.value, row.set];
            words.into_iter().map(str::to_owned).chain([row.size.to_string()]).collect()
        })
        .collect();
    write_layout(out, &columns, &cells)
}
