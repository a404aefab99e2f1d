//! `Done`: a test that was run.

use super::case::{self, Outcome};
use super::file::{Test, TestFile};
use crate::exit::Exit;
use crate::flags::run::TestFlags;
use std::time::Instant;

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

    pub(super) fn passes(&self) -> bool {
        self.outcome.exit == Exit::Success
    }
}

/// File and name.
pub(super) fn full_name(file: &TestFile, test: &Test) -> String {
    format!("{}: {}", file.path.display(), test.name.get_ref())
}
