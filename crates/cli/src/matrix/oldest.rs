//! `--min-kernel`: the oldest kernel from which on every kernel accepts a program.

use crate::exit::Exit;
use crate::flags::{CheckFlags, CheckFormat};
use crate::sources::SourceTree;
use crate::streams::Streams;
use skep::Kernel;
use skep_report::{Matrix, Oldest, OldestKernels};
use std::io;
use std::sync::Arc;

/// Columns from the oldest kernel to the newest, by the release whose features each has.
fn by_age(kernels: &[Arc<Kernel>]) -> Vec<usize> {
    let mut columns: Vec<usize> = (0..kernels.len()).collect();
    columns.sort_by_key(|&at| kernels[at].version());
    columns
}

/// Why a format is refused: its readers take every result for a problem.
pub(super) const NO_SARIF: &str = "--min-kernel cannot be used with --format sarif, in which \
     every result is a problem: use json, or --kernel A,B,... --format sarif";

/// Writes them; success if all programs have one, `Exit::Input` if that is not known.
///
/// # Errors
///
/// Those of the streams.
pub(super) fn write(
    flags: &CheckFlags,
    matrix: &Matrix,
    kernels: &[Arc<Kernel>],
    sources: &SourceTree,
    streams: &mut Streams<'_>,
) -> io::Result<Exit> {
    let columns = by_age(kernels);
    let oldest = OldestKernels::of(matrix, &columns);
    match flags.format {
        CheckFormat::Json => oldest.write_json(streams.out)?,
        CheckFormat::Markdown => oldest.write_markdown(streams.out)?,
        CheckFormat::Github => {
            oldest.write_github(streams.out, |diagnostic| sources.name_from_here(diagnostic))?;
        }
        CheckFormat::Text | CheckFormat::Sarif => oldest.write(streams.out)?,
    }
    Ok(match oldest.of_all() {
        Oldest::Kernel(_) => Exit::Success,
        Oldest::None => Exit::Refused,
        Oldest::NotKnown => Exit::Input,
    })
}
