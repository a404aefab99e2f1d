//! The blocks shown when a program is opened.

use super::strings::{Once, shown};
use crate::diagnostic::SourceSpot;
use serde_json::{Value, json};

/// A cell of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell<'a> {
    /// Words.
    Text(&'a str),
    /// A number.
    Number(i64),
}

/// A step of the path to a rejection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What happened.
    pub text: String,
    /// Where.
    pub at: Option<SourceSpot>,
}

/// A source line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLine {
    /// `parse.c:12`; links go there.
    pub place: String,
    /// Its text.
    pub text: String,
    /// One number for each of the block's columns.
    pub numbers: Vec<i64>,
    /// Steps of the path at this line, from 1.
    pub steps: Vec<usize>,
}

/// A block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// A heading and text; empty lines separate paragraphs.
    Prose {
        /// Above the words.
        heading: String,
        /// Markdown of the simple kind: paragraphs, `code`, fenced code, lists.
        text: String,
    },
    /// A heading and verbatim lines.
    Verbatim {
        /// Above the lines.
        heading: String,
        /// The lines.
        text: String,
    },
    /// The steps, in order.
    Story {
        /// Above the steps.
        heading: String,
        /// The steps, each with its line.
        steps: Vec<Step>,
    },
    /// Source lines; their first number determines how hot they are.
    Source {
        /// Above the lines.
        heading: String,
        /// What the numbers are.
        columns: Vec<String>,
        /// By file and line.
        lines: Vec<SourceLine>,
    },
    /// A table; texts that are the location of a source line are links.
    Table {
        /// Above the table.
        heading: String,
        /// Headings of the columns; those of numbers are aligned right.
        columns: Vec<String>,
        /// Texts and numbers.
        rows: Vec<Vec<TableCell>>,
    },
    /// An SVG picture that we generated.
    Picture {
        /// Above the picture.
        heading: String,
        /// The SVG.
        svg: String,
    },
}

/// A cell of a block's table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableCell {
    /// Text, or the location of a line.
    Text(String),
    /// A number.
    Number(u64),
}

impl From<&str> for TableCell {
    fn from(text: &str) -> TableCell {
        TableCell::Text(text.to_owned())
    }
}

impl From<u64> for TableCell {
    fn from(number: u64) -> TableCell {
        TableCell::Number(number)
    }
}

impl Block {
    /// As JSON, with strings by their index.
    pub(super) fn encode(&self, strings: &mut Once) -> Value {
        let mut s = |text: &str| strings.index(shown(text));
        match self {
            Block::Prose { heading, text } => {
                json!({ "kind": "prose", "heading": s(heading), "text": s(text) })
            }
            Block::Verbatim { heading, text } => {
                json!({ "kind": "verbatim", "heading": s(heading), "text": s(text) })
            }
            Block::Story { heading, steps } => {
                let heading = s(heading);
                let step = |step: &Step| match &step.at {
                    Some(at) => json!([s(&step.text), s(&place_of(at)), s(at.text.trim_end())]),
                    None => json!([s(&step.text)]),
                };
                let steps: Vec<Value> = steps.iter().map(step).collect();
                json!({ "kind": "story", "heading": heading, "steps": steps })
            }
            Block::Source { heading, columns, lines } => {
                let heading = s(heading);
                let columns: Vec<usize> = columns.iter().map(|column| s(column)).collect();
                let line = |line: &SourceLine| {
                    json!([s(&line.place), s(line.text.trim_end()), line.numbers, line.steps])
                };
                let lines: Vec<Value> = lines.iter().map(line).collect();
                json!({ "kind": "source", "heading": heading, "columns": columns, "lines": lines })
            }
            Block::Table { heading, columns, rows } => {
                let heading = s(heading);
                let columns: Vec<usize> = columns.iter().map(|column| s(column)).collect();
                // A text is an index in an array of its own, to distinguish it from a number.
                let mut cell = |cell: &TableCell| match cell {
                    TableCell::Text(text) => json!([s(text)]),
                    TableCell::Number(number) => json!(number),
                };
                let rows: Vec<Vec<Value>> =
                    rows.iter().map(|row| row.iter().map(&mut cell).collect()).collect();
                json!({ "kind": "table", "heading": heading, "columns": columns, "rows": rows })
            }
            Block::Picture { heading, svg } => {
                json!({ "kind": "picture", "heading": s(heading), "svg": s(svg) })
            }
        }
    }
}

/// `parse.c:12`: the file without its directories.
pub(super) fn place_of(at: &SourceSpot) -> String {
    format!("{}:{}", at.file.rsplit('/').next().unwrap_or(&at.file), at.line)
}

/// File and line of a location, for sorting.
pub(super) fn file_and_line(place: &str) -> (&str, u32) {
    let parts = place.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
    parts.or_else(|| Some(("", place.strip_prefix("insn ")?.parse().ok()?))).unwrap_or((place, 0))
}
