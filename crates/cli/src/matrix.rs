//! `skep check --kernel a,b,c`: which kernel accepts which program.
//!
//! Kernels that differ only in features (helpers, types, insns) share opening and verification of
//! each program; the rest is done in parallel.

mod cells;
mod oldest;

use crate::Error;
use crate::check::{self, with_log, write_sarif};
use crate::exit::Exit;
use crate::flags::{CheckFlags, CheckFormat};
use crate::html_file::HtmlFile;
use crate::inputs::Input;
use crate::judge_files::{Batch, FileAnswers, JudgeError, Judged, Plan};
use crate::kernels;
use crate::sources::SourceTree;
use crate::streams::Streams;
use cells::{Cell, cells};
use rayon::prelude::*;
use skep::{Kernel, Session, VerifyOptions};
use skep_report::{CellVerdict, Matrix, MatrixCell, MatrixRow};
use std::cell::RefCell;
use std::io;
use std::sync::Arc;

/// The results of one program for the kernels of a group.
struct Part {
    object: String,
    prog: String,
    newest: Option<String>,
    cells: Vec<Cell>,
    /// It reads the kernel version, so the result for one kernel does not apply to others.
    asks_version: bool,
}

impl crate::in_order::Weigh for Part {}

/// Kernels that share a verification, and their columns.
struct Group {
    plan: Plan,
    columns: Vec<usize>,
}

/// All that judges a file.
struct Judge {
    kernels: Vec<Arc<Kernel>>,
    groups: Vec<Group>,
    /// The same, each kernel alone.
    singles: Vec<Group>,
}

/// Whether `skep check` should print a table of kernels: for a single kernel in text format,
/// programs are explained as without `--kernel`.
pub(crate) fn is_wanted(flags: &CheckFlags) -> bool {
    let names = &flags.input.kernel;
    let is_one = names.len() == 1 && names[0] != kernels::ALL && flags.format == CheckFormat::Text;
    flags.min_kernel || (!names.is_empty() && !is_one)
}

/// Runs the command.
///
/// # Errors
///
/// Only those of the streams.
pub(crate) fn run(flags: &CheckFlags, streams: &mut Streams<'_>) -> io::Result<Exit> {
    with_log(streams, |streams, log| judge(flags, streams, log))
}

fn judge(
    flags: &CheckFlags,
    streams: &mut Streams<'_>,
    log: &RefCell<Vec<u8>>,
) -> io::Result<Exit> {
    if flags.input.files.is_empty() {
        streams.error("no file given")?;
        return Ok(Exit::Input);
    }
    if flags.min_kernel && flags.format == CheckFormat::Sarif {
        streams.error(oldest::NO_SARIF)?;
        return Ok(Exit::Input);
    }
    let (batch, judge) = Batch::beside(&flags.input, || Judge::new(flags));
    let ready = judge.and_then(|judge| {
        let sources = SourceTree::new(flags.source_root.as_deref())?;
        Ok((judge, HtmlFile::new(&flags.html.html)?, sources))
    });
    let (judge, html, sources) = match ready {
        Ok(ready) => ready,
        Err(message) => {
            streams.error(&message)?;
            return Ok(Exit::Input);
        }
    };
    let mut matrix = Matrix { kernels: vec![], rows: vec![] };
    matrix.kernels.extend(judge.kernels.iter().map(|it| kernels::described(it)));
    let mut worst = Exit::Success;
    let Some(first) = judge.singles.first() else { return Ok(Exit::Input) };
    let (_, exit) = batch.run_each(
        &first.plan,
        streams,
        |input| judge.file(input),
        |streams, file| {
            if !flags.min_kernel {
                let columns = matrix.kernels.len();
                matrix.rows.extend(file.problems.iter().filter_map(|it| unopened(it, columns)));
            }
            for part in file.answers {
                for cell in &part.cells {
                    worst.raise(cell.exit);
                    if let Some(line) = &cell.trouble {
                        streams.failure(line, cell.exit)?;
                    }
                }
                matrix.rows.push(row(part));
            }
            Ok(())
        },
    )?;
    if let Err(message) = html.write(|| skep_report::matrix_page(&matrix)) {
        streams.error(&message)?;
        worst.raise(Exit::Input);
    }
    if flags.min_kernel {
        let mut oldest = oldest::write(flags, &matrix, &judge.kernels, &sources, streams)?;
        oldest.raise(exit);
        return Ok(oldest);
    }
    worst.raise(exit);
    if matches!(flags.format, CheckFormat::Text | CheckFormat::Markdown) {
        let cells = matrix.rows.iter_mut().flat_map(|row| &mut row.cells);
        let spots = cells.filter_map(|cell| cell.reason.as_mut()?.at.as_mut());
        spots.for_each(|spot| sources.shorten_spot(spot));
    }
    write(flags, &matrix, &sources, log, streams)?;
    Ok(worst)
}

fn write(
    flags: &CheckFlags,
    matrix: &Matrix,
    sources: &SourceTree,
    log: &RefCell<Vec<u8>>,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    let named = || {
        let mut diagnostics = matrix.diagnostics();
        diagnostics.iter_mut().for_each(|it| sources.name_from_here(it));
        diagnostics
    };
    // Also with --quiet: no result for a kernel is without what it is worth.
    match flags.format {
        CheckFormat::Text => {
            skep_report::write_matrix(streams.out, matrix, flags.quiet)?;
            writeln!(streams.out)?;
            matrix.kernels.iter().try_for_each(|it| writeln!(streams.out, "{}", it.line()))
        }
        CheckFormat::Json => skep_report::write_matrix_json(streams.out, matrix),
        CheckFormat::Markdown => skep_report::write_matrix_markdown(streams.out, matrix),
        CheckFormat::Sarif => {
            // First: what is printed there is part of the document.
            matrix.kernels.iter().try_for_each(|it| streams.note(&it.line()))?;
            let log = String::from_utf8_lossy(&log.borrow()).into_owned();
            write_sarif(streams.out, &named(), &log)
        }
        CheckFormat::Github => {
            skep_report::write_github(streams.out, &named())?;
            matrix.kernels.iter().try_for_each(|it| match it.is_tested {
                true => streams.note(&it.line()),
                false => skep_report::write_github_notice(streams.out, &it.heading(), &it.line()),
            })
        }
    }
}

fn row(part: Part) -> MatrixRow {
    let cell = |cell: Cell| MatrixCell { verdict: cell.verdict, reason: cell.reason };
    MatrixRow {
        object: part.object,
        prog: part.prog,
        newest: part.newest,
        cells: part.cells.into_iter().map(cell).collect(),
    }
}

/// A file without programs, as a row with an empty name; none for what is not about a file.
fn unopened(problem: &JudgeError, columns: usize) -> Option<MatrixRow> {
    let (object, reason) = cells::unopened(problem)?;
    let cell = MatrixCell { verdict: CellVerdict::NotKnown, reason: Some(reason) };
    Some(MatrixRow { object, prog: String::new(), newest: None, cells: vec![cell; columns] })
}

impl Judge {
    fn new(flags: &CheckFlags) -> Result<Judge, Error> {
        let names = &flags.input.kernel;
        let kernels = match flags.min_kernel && names.is_empty() {
            true => Kernel::all().into_iter().map(Arc::new).collect(),
            false => kernels::named(names)?,
        };
        if flags.input.target.is_some() {
            return Err("not supported yet: --target with --kernel".into());
        }
        let mut groups: Vec<Group> = Vec::new();
        let mut singles: Vec<Group> = Vec::new();
        let gate = check::gate(flags)?;
        for (at, kernel) in kernels.iter().enumerate() {
            // Missing features are looked up for each cell: see `cells`.
            let host = kernel.host();
            let session =
                || Session { loader: flags.input.loader.into(), ..Session::new(host.clone()) };
            let plan = || {
                let plan = check::plan_with(flags, session(), Arc::clone(&gate))?;
                Ok::<_, Error>(Plan { options: VerifyOptions::default(), ..plan })
            };
            singles.push(Group { plan: plan()?, columns: vec![at] });
            let same = |group: &&mut Group| kernels[group.columns[0]].walks_as(kernel);
            match groups.iter_mut().find(same) {
                Some(group) => group.columns.push(at),
                None => groups.push(Group { plan: plan()?, columns: vec![at] }),
            }
        }
        Ok(Judge { kernels, groups, singles })
    }

    fn file(&self, input: &Input) -> FileAnswers<Part> {
        let found = self.by(&self.groups, input);
        let asks = |file: &FileAnswers<Part>| file.answers.iter().any(|part| part.asks_version);
        match self.groups.len() < self.singles.len() && found.iter().any(asks) {
            true => self.joined(&self.singles, self.by(&self.singles, input)),
            false => self.joined(&self.groups, found),
        }
    }

    fn by(&self, groups: &[Group], input: &Input) -> Vec<FileAnswers<Part>> {
        groups
            .par_iter()
            .map(|group| group.plan.judge(input, &|judged| self.part(group, judged)))
            .collect()
    }

    fn part(&self, group: &Group, judged: Judged<'_>) -> Part {
        let kernels = group.columns.iter().map(|&at| &self.kernels[at]);
        let (cells, newest) = cells(&judged, kernels, &group.plan.session);
        Part {
            object: judged.file.to_owned(),
            prog: judged.entry.name.clone(),
            newest,
            cells,
            asks_version: cells::asks_version(&judged),
        }
    }

    /// The groups' results, with cells in the order of the kernels.
    fn joined(&self, groups: &[Group], found: Vec<FileAnswers<Part>>) -> FileAnswers<Part> {
        let mut all = FileAnswers::new(String::new());
        for (group, file) in groups.iter().zip(found) {
            all.file = file.file;
            all.tally = file.tally;
            // An error in a file applies to every kernel.
            for trouble in file.problems {
                if !all.problems.contains(&trouble) {
                    all.problems.push(trouble);
                }
            }
            for (at, part) in file.answers.into_iter().enumerate() {
                self.join(&mut all.answers, at, part, &group.columns);
            }
        }
        all
    }

    /// Adds the cells of a program to those of other groups.
    fn join(&self, all: &mut Vec<Part>, at: usize, part: Part, columns: &[usize]) {
        let is_it = |it: &Part| it.object == part.object && it.prog == part.prog;
        let at = match all.get(at).is_some_and(is_it) {
            true => Some(at),
            false => all.iter().position(is_it),
        };
        let Part { cells, newest, .. } = part;
        let at = at.unwrap_or_else(|| {
            let blank = vec![Cell::not_opened(); self.kernels.len()];
            all.push(Part { cells: blank, newest: None, ..part });
            all.len() - 1
        });
        let Some(known) = all.get_mut(at) else { return };
        known.newest = known.newest.take().or(newest);
        for (cell, &column) in cells.into_iter().zip(columns) {
            known.cells[column] = cell;
        }
    }
}
