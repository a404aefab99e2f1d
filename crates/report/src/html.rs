//! Self-contained HTML pages with results, for a browser without network access.
//!
//! A page is a table with one row per program, and blocks shown when a program is opened. The data
//! are one JSON block, rendered by a small script in the page: names come from untrusted files, and
//! text that is never written as HTML cannot be interpreted as HTML.
//!
//! # Invariants
//!
//! 1. All text of the page is in its string table, each string once, and passes through [`shown`]
//!    on insertion.
//! 2. `<` in the JSON is written as `\u003c`: no text can end the enclosing element.
//! 3. Blocks are stored once, too: the explanation of a code is shared by all programs with that
//!    code.
//!
//! A new kind of page only needs columns, rows and blocks, no changes here or in the script.

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
    /// One of a few words, good or bad.
    Verdict,
    /// Numbers, aligned right; the largest are sorted first.
    Number,
}

/// A column of the table.
#[derive(Debug, Serialize)]
struct Column {
    heading: String,
    kind: ColumnKind,
    /// Its name in conditions such as `insns>1000`.
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
    notes_open: bool,
    columns: Vec<Column>,
    strings: Once,
    blocks: Once,
    details: Vec<Vec<usize>>,
}

impl Page {
    /// A page without columns; the first one added names the rows.
    pub fn new(title: &str) -> Page {
        Page {
            title: shown(title),
            what: "programs",
            notes: Vec::new(),
            notes_open: false,
            columns: Vec::new(),
            strings: Once::default(),
            blocks: Once::default(),
            details: Vec::new(),
        }
    }

    /// Sets what the rows are, if not programs.
    pub fn rows_are(&mut self, what: &'static str) {
        self.what = what;
    }

    /// Adds a line that applies to all programs.
    pub fn note(&mut self, text: &str) {
        self.notes.push(shown(text));
    }

    /// Adds a line that nobody may overlook: the lines are shown without being asked for.
    pub fn warning(&mut self, text: &str) {
        self.note(text);
        self.notes_open = true;
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

    /// Adds a program: one cell per column, and what is shown when it is opened. Missing cells are
    /// empty.
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

    /// The data, as embedded in the page.
    fn write_data(&self, out: &mut dyn Write) -> io::Result<()> {
        #[derive(Serialize)]
        struct Head<'a> {
            title: &'a str,
            what: &'a str,
            notes: &'a [String],
            notes_open: bool,
            columns: &'a [Column],
            strings: &'a [String],
            details: &'a [Vec<usize>],
        }
        let head = Head {
            title: &self.title,
            what: self.what,
            notes: &self.notes,
            notes_open: self.notes_open,
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

/// Writes the page: a single self-contained file.
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
                // One scope: the parts can access each other, but the page cannot access them.
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

/// JSON for embedding in an element: `<` only occurs in strings, where it may be escaped.
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
