//! `Error`: the input or the host is wrong, or something is not modelled; one line says where.

use std::fmt;

/// Why something could not be loaded or run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    text: String,
    kind: ErrorKind,
}

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
        Error { text: text.into(), kind: ErrorKind::Input }
    }

    pub(crate) fn memory(text: impl Into<String>) -> Error {
        Error { text: text.into(), kind: ErrorKind::Memory }
    }

    pub(crate) fn unsafe_to_run(text: impl Into<String>) -> Error {
        Error { text: text.into(), kind: ErrorKind::Unsafe }
    }

    pub(crate) fn clock(text: impl Into<String>) -> Error {
        Error { text: text.into(), kind: ErrorKind::Clock }
    }

    pub(crate) fn unsupported(what: impl fmt::Display) -> Error {
        Error { text: format!("not supported yet: {what}"), kind: ErrorKind::Unsupported }
    }

    /// Something that is missing, in a text that says so.
    pub(crate) fn missing(text: impl Into<String>) -> Error {
        Error { text: text.into(), kind: ErrorKind::Unsupported }
    }

    pub(crate) fn stopped(text: impl Into<String>) -> Error {
        Error { text: text.into(), kind: ErrorKind::Stopped }
    }

    pub(crate) fn bug(text: impl Into<String>) -> Error {
        Error { text: text.into(), kind: ErrorKind::Bug }
    }

    /// The same error, with what was being done in front.
    pub(crate) fn context(self, doing: impl fmt::Display) -> Error {
        Error { text: format!("{doing}: {}", self.text), kind: self.kind }
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

impl std::error::Error for Error {}
