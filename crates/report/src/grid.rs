//! `Grid`: a human-readable table with arbitrary columns, laid out by comfy-table as Markdown, so
//! that it can be pasted into a document.

use crate::escape::printable;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets::ASCII_MARKDOWN};
use std::fmt;

/// A table of text.
#[derive(Debug, Clone)]
pub struct Grid {
    table: Table,
    /// Number of text columns at the left; the rest are numbers, aligned right.
    words: usize,
    columns: usize,
}

impl Grid {
    /// A table with these headings; the first `words` columns are aligned left.
    pub fn new(headings: &[&str], words: usize) -> Grid {
        let mut table = Table::new();
        table.load_style(ASCII_MARKDOWN).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(headings.iter().copied());
        let mut grid = Grid { table, words, columns: headings.len() };
        grid.align();
        grid
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.table.add_row(cells.into_iter().map(|cell| printable(&cell).into_owned()));
    }

    fn align(&mut self) {
        for index in self.words..self.columns {
            if let Some(column) = self.table.column_mut(index) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.table.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_to_the_right() {
        let mut grid = Grid::new(&["Program", "Insns"], 1);
        grid.row(["a\nb".to_owned(), "7,453".to_owned()]);
        grid.row(["long_name".to_owned(), "2".to_owned()]);
        let expected = "\
| Program   | Insns |
|-----------|-------|
| a\\u{a}b   | 7,453 |
| long_name |     2 |";
        assert_eq!(grid.to_string(), expected);
    }
}
