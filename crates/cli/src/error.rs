//! `Error`: why a command failed, as the line that it prints, with the cause behind it.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::Arc;

/// Displays as one line, which includes the cause; the cause itself is the
/// [`source`](StdError::source).
#[derive(Clone, Debug)]
pub struct Error {
    line: String,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl Error {
    /// One with its own line, which need not repeat the cause.
    pub fn because(line: impl Into<String>, cause: impl StdError + Send + Sync + 'static) -> Error {
        Error { line: line.into(), source: Some(Arc::new(cause)) }
    }

    /// One whose line is its cause's.
    pub fn caused(cause: impl StdError + Send + Sync + 'static) -> Error {
        Error::because(cause.to_string(), cause)
    }

    /// One whose line says where the cause occurred: `WHERE: CAUSE`.
    pub fn at(place: impl fmt::Display, cause: impl StdError + Send + Sync + 'static) -> Error {
        Error::because(format!("{place}: {cause}"), cause)
    }

    /// The same for an I/O error, in the C library's words.
    pub fn io(place: impl fmt::Display, cause: io::Error) -> Error {
        Error::because(format!("{place}: {}", skep::io_text(&cause)), cause)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let source = self.source.as_deref()?;
        Some(source)
    }
}

impl From<String> for Error {
    fn from(line: String) -> Error {
        Error { line, source: None }
    }
}

impl From<&str> for Error {
    fn from(line: &str) -> Error {
        Error::from(line.to_owned())
    }
}

/// Where lines are collected to be printed.
impl From<Error> for String {
    fn from(error: Error) -> String {
        error.line
    }
}

/// Two are equal if they print the same line.
impl PartialEq for Error {
    fn eq(&self, other: &Error) -> bool {
        self.line == other.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_and_its_causes() {
        let denied = || io::Error::from_raw_os_error(13);
        let error = Error::at("program 'p'", Error::io("a.o", denied()));
        assert_eq!(error.to_string(), "program 'p': a.o: permission denied");
        let inner = error.source().expect("a cause");
        assert_eq!(inner.to_string(), "a.o: permission denied");
        let io = inner.source().and_then(|it| it.downcast_ref::<io::Error>());
        assert_eq!(io.and_then(io::Error::raw_os_error), Some(13));
        assert!(Error::from("no file given").source().is_none());
    }
}
