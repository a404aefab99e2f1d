//! `Error`: a file or the host is wrong; one line that says where.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a file could not be used, with the path and what was being done.
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

    /// An I/O error in words that do not depend on the platform's numbers.
    pub(crate) fn io(path: &Path, step: &'static str, cause: &io::Error) -> Self {
        let words = match cause.kind() {
            io::ErrorKind::NotFound => "no such file".to_owned(),
            io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
            io::ErrorKind::IsADirectory => "is a directory".to_owned(),
            _ => cause.to_string(),
        };
        Error::new(path, step, words)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: while {}: {}", self.path.display(), self.step, self.cause)
    }
}

impl std::error::Error for Error {}
