//! `--min-kernel`: the oldest kernel from which on every kernel accepts a program.

use crate::exit::Exit;
use crate::flags::{CheckFlags, CheckFormat};
use crate::streams::Streams;
use skep::uapi::since::Release;
use skep_report::{Matrix, MatrixRow, printable};
use std::io;

/// Result of one program: the column, and why the kernel before it rejects the program.
struct Oldest {
    /// `None` if the newest kernel rejects it.
    column: Option<usize>,
    why: Option<String>,
}

/// Columns from the oldest kernel to the newest.
fn by_age(matrix: &Matrix) -> Vec<usize> {
    let mut columns: Vec<usize> = (0..matrix.kernels.len()).collect();
    let release = |&at: &usize| matrix.kernels[at].release.parse::<Release>().ok();
    columns.sort_by_key(release);
    columns
}

fn of(matrix: &Matrix, columns: &[usize], row: &MatrixRow) -> Oldest {
    let mut oldest = Oldest { column: None, why: None };
    for &column in columns.iter().rev() {
        let Some(cell) = row.cells.get(column) else { break };
        let Some(reason) = &cell.reason else {
            oldest.column = Some(column);
            continue;
        };
        oldest.why = Some(format!("{}: {}", matrix.kernels[column].name, reason.line()));
        break;
    }
    oldest
}

/// Writes them; success if all programs have one.
///
/// # Errors
///
/// Those of the streams.
pub(super) fn write(
    flags: &CheckFlags,
    matrix: &Matrix,
    streams: &mut Streams<'_>,
) -> io::Result<Exit> {
    if flags.format != CheckFormat::Text {
        streams.error("not supported yet: --min-kernel with --format other than text")?;
        return Ok(Exit::Input);
    }
    let columns = by_age(matrix);
    let name = |column: Option<usize>| {
        column.map_or("none", |column| matrix.kernels[column].name.as_str())
    };
    let mut grid = Grid::default();
    let mut all = columns.first().copied();
    let position = |column: usize| columns.iter().position(|it| *it == column);
    for row in &matrix.rows {
        let oldest = of(matrix, &columns, row);
        all = match (all, oldest.column) {
            (Some(one), Some(other)) => std::cmp::max_by_key(one, other, |it| position(*it)).into(),
            _ => None,
        };
        grid.row(row, name(oldest.column), oldest.why.as_deref().unwrap_or_default());
    }
    grid.write(streams)?;
    writeln!(streams.out, "all programs: {}", name(all))?;
    if let Some(kernel) = all.and_then(|column| matrix.kernels.get(column)) {
        writeln!(streams.out, "{}: {}", kernel.release, kernel.promise)?;
    }
    Ok(if all.is_some() { Exit::Success } else { Exit::Refused })
}

/// Object and program, kernel, reason.
#[derive(Default)]
struct Grid {
    rows: Vec<[String; 3]>,
}

impl Grid {
    fn row(&mut self, row: &MatrixRow, kernel: &str, why: &str) {
        let name = format!("{}: {}", row.object, row.prog);
        self.rows.push([name, kernel.to_owned(), why.to_owned()]);
    }

    fn write(&self, streams: &mut Streams<'_>) -> io::Result<()> {
        let width = |at: usize| self.rows.iter().map(|row| row[at].chars().count()).max();
        let (first, second) = (width(0).unwrap_or(0), width(1).unwrap_or(0));
        for [name, kernel, why] in &self.rows {
            let line =
                format!("{:<first$}  {kernel:<second$}  {}", printable(name), printable(why));
            writeln!(streams.out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
