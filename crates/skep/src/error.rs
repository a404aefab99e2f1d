//! `Error`: a file or the host is wrong; one line says where and why.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a file could not be used: its path, what was being done, and the cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    path: PathBuf,
    step: &'static str,
    cause: String,
}

impl Error {
    pub(crate) fn new(path: &Path, step: &'static str, cause: impl fmt::Display) -> Self {
        Error { path: path.to_owned(), step, cause: cause.to_string() }
    }

    /// An I/O error on a file, while doing `step`.
    pub fn io(path: &Path, step: &'static str, cause: &io::Error) -> Self {
        Error::new(path, step, io_text(cause))
    }
}

/// An I/O error in the C library's words, without its number: `no such file or directory`.
#[doc(hidden)]
pub fn io_text(cause: &io::Error) -> String {
    let text = cause.to_string();
    let Some(number) = cause.raw_os_error() else { return text };
    let words = text.strip_suffix(&format!(" (os error {number})")).unwrap_or(&text);
    let mut chars = words.chars();
    let first = chars.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(chars).collect()
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: while {}: {}", self.path.display(), self.step, self.cause)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_errors_read_alike() {
        let text = |number| io_text(&io::Error::from_raw_os_error(number));
        assert_eq!(text(2), "no such file or directory");
        assert_eq!(text(13), "permission denied");
        assert_eq!(io_text(&io::Error::other("too long")), "too long");
        let error =
            Error::io(Path::new("a.o"), "reading the file", &io::Error::from_raw_os_error(21));
        assert_eq!(error.to_string(), "a.o: while reading the file: is a directory");
    }
}
