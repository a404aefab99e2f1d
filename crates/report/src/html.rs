//! A page that explains itself: results as one HTML file, for a browser without a network.
//!
//! A page is a table with a row a program, and blocks that are shown when a program is opened. It
//! is written as one JSON block, which a small script in the page draws: names come from untrusted
//! files, and what is never written as HTML cannot be taken for it.
//!
//! # Invariants
//!
//! 1. Text of the page is in its table of strings, each once, and passes [`shown`] on its way in.
//! 2. `<` in the JSON is written as `\u003c`: no text can end the block it stands in.
//! 3. Blocks are kept once, too: what is said of a code is said of all programs that have it.
//!
//! A new kind of page needs columns, rows and blocks, and nothing here or in the script.

mod block;
mod check;
mod compare;
mod coverage;
mod matrix;
mod profile;
mod stat;
mod strings;
#[cfg(test)]
mod tests;

pub use block::{Block, Cell, SourceLine, Step, TableCell};
pub use check::{CheckedProgram, check_page};
pub use compare::compare_page;
pub use coverage::coverage_page;
pub use matrix::matrix_page;
pub use profile::profile_page;
pub use stat::stat_page;

use crate::json_text::{JsonForm, write_json_text};
use serde::Serialize;
use std::io::{self, Write};
use strings::{Once, shown};

/// How a column is drawn, sorted and filtered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnKind {
    /// Words.
    Text,
    /// A word of few, good or bad.
    Verdict,
    /// Numbers, set to the right; the largest are sorted first.
    Number,
}

/// A column of the table.
#[derive(Debug, Serialize)]
struct Column {
    heading: String,
    kind: ColumnKind,
    /// What conditions such as `insns>1000` call it.
    names: Vec<String>,
    /// Strings by their index, numbers as they are.
    values: Vec<i64>,
}

/// A page to be written.
#[derive(Debug)]
pub struct Page {
    title: String,
    what: &'static str,
    notes: Vec<String>,
    columns: Vec<Column>,
    strings: Once,
    blocks: Once,
    details: Vec<Vec<usize>>,
}

impl Page {
    /// A page without columns; the first one will be what rows are called.
    pub fn new(title: &str) -> Page {
        Page {
            title: shown(title),
            what: "programs",
            notes: Vec::new(),
            columns: Vec::new(),
            strings: Once::default(),
            blocks: Once::default(),
            details: Vec::new(),
        }
    }

    /// Says what rows are, if not programs.
    pub fn rows_are(&mut self, what: &'static str) {
        self.what = what;
    }

    /// Adds a line that belongs to all programs.
    pub fn note(&mut self, text: &str) {
        self.notes.push(shown(text));
    }

    /// Adds a column; before the first row.
    pub fn column(&mut self, heading: &str, kind: ColumnKind, names: &[&str]) {
        self.columns.push(Column {
            heading: shown(heading),
            kind,
            names: names.iter().map(|name| shown(name).to_lowercase()).collect(),
            values: Vec::new(),
        });
    }

    /// Adds a program: a cell a column, and what is shown when it is opened. Cells that are missing
    /// are empty.
    pub fn row(&mut self, cells: &[Cell<'_>], blocks: &[Block]) {
        for (at, column) in self.columns.iter_mut().enumerate() {
            column.values.push(match (cells.get(at), column.kind) {
                (Some(Cell::Number(number)), ColumnKind::Number) => *number,
                (_, ColumnKind::Number) => 0,
                (Some(Cell::Number(number)), _) => self.strings.index(number.to_string()) as i64,
                (Some(Cell::Text(text)), _) => self.strings.index(shown(text)) as i64,
                (None, _) => self.strings.index(String::new()) as i64,
            });
        }
        let indexes = blocks.iter().map(|block| block.encode(&mut self.strings).to_string());
        let indexes: Vec<String> = indexes.collect();
        self.details.push(indexes.into_iter().map(|json| self.blocks.index(json)).collect());
    }

    /// The data, as the page has them.
    fn write_data(&self, out: &mut dyn Write) -> io::Result<()> {
        #[derive(Serialize)]
        struct Head<'a> {
            title: &'a str,
            what: &'a str,
            notes: &'a [String],
            columns: &'a [Column],
            strings: &'a [String],
            details: &'a [Vec<usize>],
        }
        let head = Head {
            title: &self.title,
            what: self.what,
            notes: &self.notes,
            columns: &self.columns,
            strings: self.strings.all(),
            details: &self.details,
        };
        write!(out, "{{\"version\":1,\"head\":")?;
        write_json_text(out, &head, JsonForm::Line)?;
        write!(out, ",\"blocks\":[{}]}}", self.blocks.all().join(","))
    }
}

const TEMPLATE: &str = include_str!("html/page.html");
const STYLE: &str = include_str!("html/page.css");
const SCRIPTS: [&str; 4] = [
    include_str!("html/data.js"),
    include_str!("html/list.js"),
    include_str!("html/program.js"),
    include_str!("html/start.js"),
];

/// Writes the page: one file that needs no other.
///
/// # Errors
///
/// Only those of `out`.
pub fn write_html(out: &mut dyn Write, page: &Page) -> io::Result<()> {
    for part in TEMPLATE.split_inclusive("}}") {
        let (text, name) = part.split_once("{{").unwrap_or((part, ""));
        out.write_all(text.as_bytes())?;
        match name.trim_end_matches("}}") {
            "" => {}
            "title" => out.write_all(element_text(&page.title).as_bytes())?,
            "style" => out.write_all(STYLE.as_bytes())?,
            "data" => page.write_data(&mut NoTags(out))?,
            "script" => {
                // One scope: the parts know each other, the page does not know them.
                out.write_all(b"\"use strict\";\n{\n")?;
                SCRIPTS.iter().try_for_each(|part| out.write_all(part.as_bytes()))?;
                out.write_all(b"}\n")?;
            }
            other => return Err(io::Error::other(format!("template: no such part: {other}"))),
        }
    }
    Ok(())
}

/// Text between tags.
fn element_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// JSON on its way into an element: `<` is in strings alone, and there it may be escaped.
struct NoTags<'a>(&'a mut dyn Write);

impl Write for NoTags<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for (at, part) in bytes.split(|&byte| byte == b'<').enumerate() {
            if at > 0 {
                self.0.write_all(b"\\u003c")?;
            }
            self.0.write_all(part)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
