//! The error type of this crate: what is wrong, where, and during which step.

use std::fmt;

/// Malformed or unusable BTF: a message, an offset if there is one, and a chain of steps.
///
/// Displays as `load vmlinux: BTF type 12: offset 0x28: name offset 0x999 is out of range`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    /// Innermost first.
    context: Vec<String>,
    /// Bytes from the start of the section that was parsed.
    offset: Option<u64>,
    message: String,
}

impl Error {
    /// An error without an offset.
    pub fn new(message: impl Into<String>) -> Error {
        Error(Box::new(Inner { context: Vec::new(), offset: None, message: message.into() }))
    }

    /// An error at `offset` bytes from the start of the parsed section.
    pub fn at(offset: usize, message: impl Into<String>) -> Error {
        Error::new(message).located(offset)
    }

    /// The same error, at `offset` bytes from the start of the parsed section.
    #[must_use]
    pub(crate) fn located(mut self, offset: usize) -> Error {
        self.0.offset = Some(offset as u64);
        self
    }

    /// Adds the step during which this happened; the last one added is printed first.
    #[must_use]
    pub fn context(mut self, doing: impl Into<String>) -> Error {
        self.0.context.push(doing.into());
        self
    }

    /// The offset in the parsed section, in bytes.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// The message alone, without offset and context.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.context.iter().rev() {
            write!(f, "{c}: ")?;
        }
        if let Some(offset) = self.0.offset {
            write!(f, "offset {offset:#x}: ")?;
        }
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {}
