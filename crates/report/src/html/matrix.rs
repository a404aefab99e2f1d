//! The page of `skep check --kernel`: programs by kernels.

use super::block::{Block, Cell, TableCell};
use super::{ColumnKind, Page};
use crate::matrix::{CellVerdict, Matrix, MatrixRow};

/// Makes the page.
pub fn matrix_page(matrix: &Matrix) -> Page {
    let mut page = Page::new("skep check --kernel");
    for kernel in &matrix.kernels {
        match kernel.is_tested {
            true => page.note(&kernel.line()),
            false => page.warning(&kernel.line()),
        }
    }
    page.column("Program", ColumnKind::Text, &["prog"]);
    page.column("Taken by", ColumnKind::Verdict, &["verdict"]);
    for kernel in &matrix.kernels {
        page.column(&kernel.heading(), ColumnKind::Verdict, &[&kernel.name]);
    }
    page.column("Needs", ColumnKind::Text, &["needs"]);
    page.column("File", ColumnKind::Text, &["file"]);
    for row in &matrix.rows {
        let mut cells = vec![Cell::Text(&row.prog), Cell::Text(taken_by(row))];
        cells.extend(row.cells.iter().map(|cell| Cell::Text(cell.verdict.text())));
        cells.push(Cell::Text(row.newest.as_deref().unwrap_or_default()));
        cells.push(Cell::Text(&row.object));
        page.row(&cells, reasons(matrix, row).as_slice());
    }
    page
}

/// Which kernels accept it; kernels for which that is unknown are omitted.
fn taken_by(row: &MatrixRow) -> &'static str {
    let has = |verdict| row.cells.iter().any(|cell| cell.verdict == verdict);
    match CellVerdict::ALL.map(has) {
        [true, false, false] => "all",
        [true, _, _] => "some",
        [false, true, false] => "none",
        [false, _, _] => "not known",
    }
}

/// Why kernels reject it, one row per reason.
fn reasons(matrix: &Matrix, row: &MatrixRow) -> Option<Block> {
    let rows: Vec<Vec<TableCell>> = row
        .reasons()
        .into_iter()
        .map(|(reason, columns)| {
            let at = reason.at.as_ref().map(super::block::place_of);
            let line = reason.at.as_ref().map_or("", |at| at.text.trim());
            let mut message = reason.text().to_owned();
            if let Some(rule) = &reason.decided_by {
                message = format!("{}; {}", message.trim_end(), rule.line);
            }
            vec![
                matrix.names(&columns).as_str().into(),
                reason.rule.as_str().into(),
                message.as_str().into(),
                at.as_deref().unwrap_or_default().into(),
                line.into(),
            ]
        })
        .collect();
    let columns = ["Kernels", "Code", "Message", "Line", "Source"].map(str::to_owned).to_vec();
    let heading = "Why not".to_owned();
    (!rows.is_empty()).then_some(Block::Table { heading, columns, rows })
}
