//! `Error`: the input is wrong; a chain of "while ..." from the outermost step to the cause.

use std::fmt;

/// Why an object, or one of its programs, cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Steps, outermost last.
    steps: Vec<String>,
    /// The cause.
    cause: String,
}

impl Error {
    /// An error with no context yet.
    pub(crate) fn new(cause: impl Into<String>) -> Error {
        Error { steps: Vec::new(), cause: cause.into() }
    }

    /// The same error, met while doing `step`.
    pub(crate) fn while_(mut self, step: impl Into<String>) -> Error {
        self.steps.push(step.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in self.steps.iter().rev() {
            write!(f, "{step}: ")?;
        }
        f.write_str(&self.cause)
    }
}

impl std::error::Error for Error {}
