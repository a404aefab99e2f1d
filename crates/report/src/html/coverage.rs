//! The page of `skep run --coverage`: every source file with its coverage.

use super::block::{Block, Cell, SourceLine, TableCell};
use super::{ColumnKind, Page};
use crate::lcov::{BranchCoverage, BranchKey, FileCoverage};
use std::collections::BTreeMap;

/// The number of items, and of those executed.
#[derive(Default, Clone, Copy)]
struct Share {
    all: usize,
    ran: usize,
}

impl Share {
    fn of<'a>(runs: impl Iterator<Item = &'a u64>) -> Share {
        runs.fold(Share::default(), |share, &runs| Share {
            all: share.all + 1,
            ran: share.ran + usize::from(runs > 0),
        })
    }

    /// Both outcomes of each branch.
    fn ways<'a>(branches: impl Iterator<Item = &'a BranchCoverage>) -> Share {
        branches.fold(Share::default(), |share, branch| {
            let ran = usize::from(branch.taken > 0) + usize::from(branch.runs > branch.taken);
            Share { all: share.all + 2, ran: share.ran + ran }
        })
    }

    fn cells(self) -> [Cell<'static>; 2] {
        [self.all, self.ran].map(|count| Cell::Number(number(count as u64)))
    }
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Creates the page; `text` gives the text of a line of a file, if known.
pub fn coverage_page<'t>(
    files: &BTreeMap<String, FileCoverage>,
    text: impl Fn(&str, u32) -> Option<&'t str>,
) -> Page {
    let mut page = Page::new("skep run --coverage");
    page.rows_are("files");
    page.column("File", ColumnKind::Text, &["file"]);
    for (what, name) in [("Lines", "lines"), ("Functions", "functions"), ("Branch ways", "ways")] {
        page.column(what, ColumnKind::Number, &[name]);
        page.column(&format!("{what} run"), ColumnKind::Number, &[&format!("{name}_run")]);
    }
    for (path, file) in files {
        let shares = [
            Share::of(file.lines.values()),
            Share::of(file.functions.values()),
            Share::ways(file.branches.values()),
        ];
        let mut cells = vec![Cell::Text(path)];
        cells.extend(shares.iter().flat_map(|share| share.cells()));
        let mut blocks = vec![source(path, file, &text), functions(path, file)];
        if !file.branches.is_empty() {
            blocks.push(branches(path, file));
        }
        page.row(&cells, &blocks);
    }
    page
}

fn place(path: &str, line: u32) -> String {
    format!("{}:{line}", path.rsplit('/').next().unwrap_or(path))
}

fn functions(path: &str, file: &FileCoverage) -> Block {
    let row = |((line, name), calls): (&(u32, String), &u64)| -> Vec<TableCell> {
        vec![name.as_str().into(), (*calls).into(), place(path, *line).as_str().into()]
    };
    Block::Table {
        heading: "Functions".to_owned(),
        columns: ["Function", "Calls", "Begins at"].map(str::to_owned).to_vec(),
        rows: file.functions.iter().map(row).collect(),
    }
}

/// Counts of each branch's outcomes; dashes if it was never executed, as in LCOV.
fn branches(path: &str, file: &FileCoverage) -> Block {
    let way = |branch: &BranchCoverage, count: u64| -> TableCell {
        if branch.runs > 0 { count.into() } else { "-".into() }
    };
    let row = |(key, branch): (&BranchKey, &BranchCoverage)| {
        let place = place(path, key.line).as_str().into();
        let went_on = branch.runs.saturating_sub(branch.taken);
        vec![place, key.function.as_str().into(), way(branch, branch.taken), way(branch, went_on)]
    };
    Block::Table {
        heading: "Branches".to_owned(),
        columns: ["Line", "Function", "Jumped", "Went on"].map(str::to_owned).to_vec(),
        rows: file.branches.iter().map(row).collect(),
    }
}

/// The lines with insns.
fn source<'t>(
    path: &str,
    file: &FileCoverage,
    text: &impl Fn(&str, u32) -> Option<&'t str>,
) -> Block {
    let line = |(&line, &runs): (&u32, &u64)| {
        let branches = file.branches.iter().filter(|(key, _)| key.line == line);
        let ways = Share::ways(branches.map(|(_, branch)| branch));
        let numbers = [runs, ways.all as u64, ways.ran as u64].map(number).to_vec();
        let text = text(path, line).unwrap_or_default().to_owned();
        SourceLine { place: place(path, line), text, numbers, steps: Vec::new() }
    };
    Block::Source {
        heading: "Source".to_owned(),
        columns: ["Runs", "Branch ways", "Ways run"].map(str::to_owned).to_vec(),
        lines: file.lines.iter().map(line).collect(),
    }
}
