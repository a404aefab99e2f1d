//! `skep test`: tests of programs, kept next to them.
//!
//! Reading order: `file` (parses a test file), `markdown` (its blocks),
//! `value` (keys and values of maps), `case` (one test:
//! verification, run and comparison), `done` (its result), `bless` (updates the file), `junit` and
//! `json` (machine-readable results).

mod bless;
mod case;
mod done;
mod file;
mod json;
mod junit;
mod markdown;
mod value;

use crate::Error;
use crate::exit::Exit;
use crate::flags::run::TestFlags;
use crate::streams::Streams;
use crate::threads;
use done::{Asked, Done, Ending, Sums, full_name};
use file::{TestFile, Unread};
use rayon::prelude::*;
use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

/// What directories are searched for.
const SUFFIXES: [&str; 2] = [".test.toml", ".test.md"];

/// Runs the command.
///
/// # Errors
///
/// Only those of the streams.
pub(crate) fn run(flags: &TestFlags, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let found = found(&flags.files);
    let files: Vec<Result<TestFile, Unread>> =
        found.into_iter().map(|path| path.and_then(|path| TestFile::read(&path))).collect();
    let is_wanted = |name: &str| {
        flags.filter.is_empty() || flags.filter.iter().any(|text| name.contains(&**text))
    };
    let all: Vec<Asked<'_>> = files.iter().flat_map(asked).collect();
    let is_named = |asked: &&Asked<'_>| match asked {
        Asked::Test(file, number) => is_wanted(&full_name(file, &file.tests[*number])),
        // It is not known which tests are inside.
        Asked::Unread(_) => true,
    };
    let wanted: Vec<Asked<'_>> = all.iter().filter(is_named).copied().collect();
    let count = wanted.len();
    if !flags.format.is_json() {
        writeln!(streams.out, "running {count} test{}", if count == 1 { "" } else { "s" })?;
    }
    let jobs = flags.jobs.unwrap_or_else(|| available_parallelism().map_or(1, NonZero::get));
    let mut done: Vec<Done<'_>> = match threads::pool(jobs.clamp(1, count.max(1))) {
        Some(pool) => {
            pool.install(|| wanted.par_iter().map(|asked| Done::of(asked, flags)).collect())
        }
        None => wanted.iter().map(|asked| Done::of(asked, flags)).collect(),
    };
    let filtered = all.len() - count;
    let mut exit = done.iter().map(|done| done.outcome.exit).max().unwrap_or_default();
    let mut rewritten = Vec::new();
    if flags.bless {
        (exit, rewritten) = bless(&mut done, streams)?;
    }
    match flags.format.is_json() {
        true => json::write(&done, filtered, streams.out)?,
        false => report(flags, &done, filtered, streams)?,
    }
    for line in rewritten {
        writeln!(streams.out, "{line}")?;
    }
    if count == 0 && !flags.filter.is_empty() {
        streams.error("the filter matches no test")?;
        exit.raise(Exit::Input);
    }
    if let Some(path) = &flags.junit
        && let Err(e) = std::fs::write(path, junit::text(&done))
    {
        streams.error(skep::Error::io(path, "writing", e).to_string())?;
        exit.raise(Exit::Input);
    }
    Ok(exit)
}

/// The tests of a file, or the file as one of which nothing is known.
fn asked(file: &Result<TestFile, Unread>) -> Vec<Asked<'_>> {
    match file {
        Ok(file) => (0..file.tests.len()).map(|number| Asked::Test(file, number)).collect(),
        Err(unread) => vec![Asked::Unread(unread)],
    }
}

/// The named files, and those in the named directories.
fn found(named: &[PathBuf]) -> Vec<Result<PathBuf, Unread>> {
    let mut paths = Vec::new();
    for path in named {
        if !path.is_dir() {
            paths.push(Ok(path.clone()));
            continue;
        }
        let before = paths.len();
        for entry in walkdir::WalkDir::new(path).sort_by_file_name() {
            match entry {
                Ok(entry) if is_test_file(entry.path()) => paths.push(Ok(entry.into_path())),
                Ok(_) => {}
                Err(e) => paths.push(Err(Unread::new(path, Error::caused(e)))),
            }
        }
        if paths.len() == before {
            let [toml, markdown] = SUFFIXES;
            let inside = format!("no *{toml} or *{markdown} inside");
            paths.push(Err(Unread::new(path, inside)));
        }
    }
    paths
}

fn is_test_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.is_file() && SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
}

/// The tests one by one, the reasons of failures, and the totals.
fn report(
    flags: &TestFlags,
    done: &[Done<'_>],
    filtered: usize,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    let printable = |text: &str| skep_report::printable(text).into_owned();
    for done in done {
        let verdict = match done.ending() {
            Ending::Ok if flags.quiet => continue,
            Ending::Ok => "ok",
            Ending::Blessed => "blessed",
            Ending::Failed => "FAILED",
            Ending::Error => "ERROR",
        };
        writeln!(streams.out, "test {} ... {verdict}", printable(&done.name()))?;
    }
    let Sums { passed, blessed, failed, errors } = Sums::of(done);
    let all_pass = failed + errors == 0;
    let is_blessed = |done: &&Done<'_>| done.ending() == Ending::Blessed;
    write_problems(done.iter().filter(is_blessed), "blessed", streams)?;
    write_problems(done.iter().filter(|done| !done.passes()), "failures", streams)?;
    let verdict = if all_pass { "ok" } else { "FAILED" };
    let gap = if blessed > 0 || !all_pass || !flags.quiet { "\n" } else { "" };
    let what = if errors == 1 { "error" } else { "errors" };
    let blessed = if blessed > 0 { format!(" {blessed} blessed;") } else { String::new() };
    writeln!(
        streams.out,
        "{gap}test result: {verdict}. {passed} passed;{blessed} {failed} failed; {errors} {what}; \
         {filtered} filtered out"
    )
}

/// What is wrong with each test, if there are any.
fn write_problems<'a>(
    done: impl Iterator<Item = &'a Done<'a>>,
    heading: &str,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    let printable = |text: &str| skep_report::printable(text).into_owned();
    for (at, done) in done.enumerate() {
        if at == 0 {
            writeln!(streams.out, "\n{heading}:")?;
        }
        writeln!(streams.out, "\n---- {} ({})", printable(done.test()), printable(&done.place()))?;
        for problem in &done.outcome.problems {
            writeln!(streams.out, "{}", printable(problem))?;
        }
    }
    Ok(())
}

/// Updates the files, and says which; results that cannot be blessed stay failures.
fn bless(done: &mut [Done<'_>], streams: &mut Streams<'_>) -> io::Result<(Exit, Vec<String>)> {
    let (mut exit, mut rewritten) = (Exit::Success, Vec::new());
    let mut paths: Vec<&Path> = done.iter().map(Done::path).collect();
    paths.dedup();
    for path in paths {
        let changes = |done: &Done<'_>| done.outcome.changes.len();
        let here = || done.iter().filter(|done| done.path() == path);
        let count: usize = here().map(changes).sum();
        let new = here().filter_map(|done| Some((done.number()?, &*done.outcome.changes)));
        let written = if count > 0 { bless::write(path, new) } else { Ok(()) };
        for done in done.iter_mut().filter(|done| done.path() == path) {
            let is_all = done.outcome.problems.len() == changes(done);
            done.is_blessed = written.is_ok() && is_all;
            if !done.passes() {
                exit.raise(done.outcome.exit);
            }
        }
        let what = if count == 1 { "expectation" } else { "expectations" };
        match written {
            Ok(()) if count == 0 => {}
            Ok(()) => rewritten.push(format!("{}: {count} {what} rewritten", path.display())),
            Err(message) => {
                streams.error(&message)?;
                exit.raise(Exit::Input);
            }
        }
    }
    Ok((exit, rewritten))
}
