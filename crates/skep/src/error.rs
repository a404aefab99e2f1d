//! `Error`: a problem with a file, the host or a program, as one line that says where and why.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Why something could not be used. Displays as one complete line; the cause is available as
/// [`source`](StdError::source): an [`io::Error`], an [`object::Error`](crate::object::Error), a
/// [`NotAccepted`](crate::NotAccepted), or an error of the runtime.
#[derive(Clone)]
pub struct Error {
    line: String,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl Error {
    /// A problem with a file during `step`.
    pub(crate) fn new(path: &Path, step: &'static str, cause: impl fmt::Display) -> Self {
        Error { line: format!("{}: while {step}: {cause}", path.display()), source: None }
    }

    /// An error without a further cause.
    #[cfg(all(feature = "runtime", target_os = "linux"))]
    pub(crate) fn plain(line: String) -> Self {
        Error { line, source: None }
    }

    /// An error of the loader about a file.
    pub(crate) fn opening(path: &Path, cause: skep_object::Error) -> Self {
        Error::of(path, "opening the object", cause)
    }

    /// A problem with a file during `step`, caused by another error.
    pub(crate) fn of(
        path: &Path,
        step: &'static str,
        cause: impl StdError + Send + Sync + 'static,
    ) -> Self {
        let error = Error::new(path, step, &cause);
        Error { source: Some(Arc::new(cause)), ..error }
    }

    /// One whose line is its cause's.
    pub(crate) fn caused(cause: impl StdError + Send + Sync + 'static) -> Self {
        Error { line: cause.to_string(), source: Some(Arc::new(cause)) }
    }

    /// An I/O error on a file, while doing `step`.
    pub fn io(path: &Path, step: &'static str, cause: io::Error) -> Self {
        let error = Error::new(path, step, io_text(&cause));
        Error { source: Some(Arc::new(cause)), ..error }
    }
}

macro_rules! causes {
    ($($cause:ty),*) => {
        $(impl From<$cause> for Error {
            fn from(cause: $cause) -> Error {
                Error::caused(cause)
            }
        })*
    };
}

causes!(skep_object::Error);
#[cfg(all(feature = "runtime", target_os = "linux"))]
causes!(skep_runtime::Error, skep_runtime::Errno);

/// An I/O error in the C library's words, without the number: `no such file or directory`.
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
        f.write_str(&self.line)
    }
}

/// The one line, so that a `main` that returns the error prints it.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

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
            Error::io(Path::new("a.o"), "reading the file", io::Error::from_raw_os_error(21));
        assert_eq!(error.to_string(), "a.o: while reading the file: is a directory");
        assert_eq!(format!("{error:?}"), error.to_string());
        let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
        assert_eq!(cause.and_then(io::Error::raw_os_error), Some(21));
    }
}
