//! `Error`: a problem with the input or the host, or something not modelled, as one line.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// Why something could not be loaded or run. Displays as one complete line; a cause on which
/// callers may want to act, such as an [`Errno`](crate::Errno), is its
/// [`source`](StdError::source).
#[derive(Clone, Debug)]
pub struct Error {
    text: String,
    kind: ErrorKind,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// Errors with the same text are equal.
impl PartialEq for Error {
    fn eq(&self, other: &Error) -> bool {
        (&self.text, self.kind) == (&other.text, other.kind)
    }
}

impl Eq for Error {}

/// The kind of an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The caller's input is wrong.
    Input,
    /// The host is out of memory, or the caller's limit is reached.
    Memory,
    /// Not modelled yet.
    Unsupported,
    /// It is unsafe to run, although the kernel would load it.
    Unsafe,
    /// The clock that times runs is unusable.
    Clock,
    /// The run used up its fuel, or was interrupted.
    Stopped,
    /// skep itself failed.
    Bug,
}

impl Error {
    pub(crate) fn input(text: impl Into<String>) -> Error {
        Error::new(ErrorKind::Input, text)
    }

    pub(crate) fn memory(text: impl Into<String>) -> Error {
        Error::new(ErrorKind::Memory, text)
    }

    /// As `skep-mem` says it. No `From`: users of the facade do not see that crate.
    pub(crate) fn no_memory(why: skep_mem::NoMemory) -> Error {
        Error::memory(why.to_string())
    }

    pub(crate) fn unsafe_to_run(text: impl Into<String>) -> Error {
        Error::new(ErrorKind::Unsafe, text)
    }

    pub(crate) fn clock(text: impl Into<String>) -> Error {
        Error::new(ErrorKind::Clock, text)
    }

    pub(crate) fn unsupported(what: impl fmt::Display) -> Error {
        Error::new(ErrorKind::Unsupported, format!("not supported yet: {what}"))
    }

    /// Something missing; the text says so.
    pub(crate) fn missing(text: impl Into<String>) -> Error {
        Error::new(ErrorKind::Unsupported, text)
    }

    pub(crate) fn stopped(text: impl Into<String>) -> Error {
        Error::new(ErrorKind::Stopped, text)
    }

    pub(crate) fn bug(text: impl Into<String>) -> Error {
        Error::new(ErrorKind::Bug, text)
    }

    /// The same error, prefixed with the operation.
    pub(crate) fn context(self, doing: impl fmt::Display) -> Error {
        Error { text: format!("{doing}: {}", self.text), ..self }
    }

    /// The same error, with its cause.
    pub(crate) fn because(self, cause: impl StdError + Send + Sync + 'static) -> Error {
        Error { source: Some(Arc::new(cause)), ..self }
    }

    fn new(kind: ErrorKind, text: impl Into<String>) -> Error {
        Error { text: text.into(), kind, source: None }
    }

    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
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
    use crate::Errno;

    #[test]
    fn a_cause_stays_behind_what_was_being_done() {
        let error = Error::memory("no room").because(Errno::E2BIG).context("map 'a'");
        assert_eq!(error.to_string(), "map 'a': no room");
        let cause = error.source().and_then(|cause| cause.downcast_ref::<Errno>());
        assert_eq!(cause, Some(&Errno::E2BIG));
        assert_eq!(error, Error::memory("map 'a': no room"));
    }
}
