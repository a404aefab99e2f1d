//! `Done`: a test that was run.

use super::case::{self, Outcome};
use super::file::{Test, TestFile, Unread};
use crate::exit::Exit;
use crate::flags::run::TestFlags;
use std::path::Path;
use std::time::Instant;

/// The outcome of a test, for text, JSON and JUnit alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// All expectations are met.
    Ok,
    /// What was expected is now what was found.
    Blessed,
    /// An expectation is not met.
    Failed,
    /// The test could not be run, or there is an internal error.
    Error,
}

/// How many tests ended in each way.
pub(super) struct Sums {
    pub(super) passed: usize,
    pub(super) blessed: usize,
    pub(super) failed: usize,
    pub(super) errors: usize,
}

impl Sums {
    pub(super) fn of(done: &[Done<'_>]) -> Sums {
        let count = |ending| done.iter().filter(|done| done.ending() == ending).count();
        Sums {
            passed: count(Ending::Ok),
            blessed: count(Ending::Blessed),
            failed: count(Ending::Failed),
            errors: count(Ending::Error),
        }
    }
}

/// What is to be run.
#[derive(Clone, Copy)]
pub(super) enum Asked<'a> {
    /// A test, by its number in the file.
    Test(&'a TestFile, usize),
    /// A file without tests that could be run: an error.
    Unread(&'a Unread),
}

/// A test that was run.
pub(super) struct Done<'a> {
    asked: Asked<'a>,
    pub(super) outcome: Outcome,
    pub(super) seconds: f64,
    pub(super) is_blessed: bool,
}

impl<'a> Done<'a> {
    /// Runs a test.
    pub(super) fn of(asked: &Asked<'a>, flags: &TestFlags) -> Done<'a> {
        let started = Instant::now();
        let outcome = match asked {
            Asked::Test(file, number) => case::run(file, &file.tests[*number], flags),
            Asked::Unread(unread) => Outcome::of_file(unread),
        };
        Done { asked: *asked, outcome, seconds: started.elapsed().as_secs_f64(), is_blessed: false }
    }

    /// File and name.
    pub(super) fn name(&self) -> String {
        match self.asked {
            Asked::Test(file, number) => full_name(file, &file.tests[number]),
            Asked::Unread(unread) => unread.path.display().to_string(),
        }
    }

    /// The name of the test; of a file that could not be read, its own.
    pub(super) fn test(&self) -> &'a str {
        match self.asked {
            Asked::Test(file, number) => file.tests[number].name.get_ref(),
            Asked::Unread(unread) => {
                unread.path.file_name().and_then(|name| name.to_str()).unwrap_or("tests")
            }
        }
    }

    pub(super) fn path(&self) -> &'a Path {
        match self.asked {
            Asked::Test(file, _) => &file.path,
            Asked::Unread(unread) => &unread.path,
        }
    }

    /// Its number in the file.
    pub(super) fn number(&self) -> Option<usize> {
        match self.asked {
            Asked::Test(_, number) => Some(number),
            Asked::Unread(_) => None,
        }
    }

    pub(super) fn line(&self) -> usize {
        match self.asked {
            Asked::Test(file, number) => file.line_of(&file.tests[number]),
            Asked::Unread(unread) => unread.line.unwrap_or(1),
        }
    }

    /// `a.test.toml:12`.
    pub(super) fn place(&self) -> String {
        match self.asked {
            Asked::Unread(Unread { line: None, path, .. }) => path.display().to_string(),
            _ => format!("{}:{}", self.path().display(), self.line()),
        }
    }

    pub(super) fn ending(&self) -> Ending {
        match self.outcome.exit {
            Exit::Refused if self.is_blessed => Ending::Blessed,
            Exit::Success => Ending::Ok,
            Exit::Refused => Ending::Failed,
            Exit::Input | Exit::Interrupted | Exit::Bug => Ending::Error,
        }
    }

    pub(super) fn passes(&self) -> bool {
        matches!(self.ending(), Ending::Ok | Ending::Blessed)
    }
}

/// File and name.
pub(super) fn full_name(file: &TestFile, test: &Test) -> String {
    format!("{}: {}", file.path.display(), test.name.get_ref())
}
