//! `Done`: a test that was run.

use super::case::{self, Outcome};
use super::file::{Test, TestFile};
use crate::exit::Exit;
use crate::flags::run::TestFlags;
use std::time::Instant;

/// The outcome of a test, for text, JSON and JUnit alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// All expectations are met.
    Ok,
    /// An expectation is not met.
    Failed,
    /// The test could not be run, or there is an internal error.
    Error,
}

/// How many tests ended in each way.
pub(super) struct Sums {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) errors: usize,
}

impl Sums {
    pub(super) fn of(done: &[Done<'_>]) -> Sums {
        let count = |ending| done.iter().filter(|done| done.ending() == ending).count();
        Sums {
            passed: count(Ending::Ok),
            failed: count(Ending::Failed),
            errors: count(Ending::Error),
        }
    }
}

/// A test that was run.
pub(super) struct Done<'a> {
    pub(super) file: &'a TestFile,
    /// Its number in the file.
    pub(super) number: usize,
    pub(super) test: &'a Test,
    pub(super) outcome: Outcome,
    pub(super) seconds: f64,
}

impl<'a> Done<'a> {
    /// Runs a test.
    pub(super) fn of(file: &'a TestFile, number: usize, flags: &TestFlags) -> Done<'a> {
        let (started, test) = (Instant::now(), &file.tests[number]);
        let outcome = case::run(file, test, flags);
        Done { file, number, test, outcome, seconds: started.elapsed().as_secs_f64() }
    }

    pub(super) fn name(&self) -> String {
        full_name(self.file, self.test)
    }

    /// `a.test.toml:12`.
    pub(super) fn place(&self) -> String {
        format!("{}:{}", self.file.path.display(), self.file.line_of(self.test))
    }

    pub(super) fn ending(&self) -> Ending {
        match self.outcome.exit {
            Exit::Success => Ending::Ok,
            Exit::Refused => Ending::Failed,
            Exit::Input | Exit::Interrupted | Exit::Bug => Ending::Error,
        }
    }

    pub(super) fn passes(&self) -> bool {
        self.ending() == Ending::Ok
    }
}

/// File and name.
pub(super) fn full_name(file: &TestFile, test: &Test) -> String {
    format!("{}: {}", file.path.display(), test.name.get_ref())
}
