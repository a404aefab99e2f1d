//! `Error`: bad input; a chain of steps, outermost first, followed by the cause.
//!
//! Prints as `load maps: section .maps, offset 0x28: value_size missing`.

use crate::loader::LoadClass;
use skep_program::SourcePlace;
use skep_uapi::MapCreationError;
use std::fmt;

/// Why an object, or one of its programs, cannot be loaded. Displays as one line.
///
/// [`source`](std::error::Error::source) is the error whose words the line ends with, if another
/// part found it: a [`skep_btf::Error`], a [`skep_insn::Error`], the ELF parser's error, or the
/// [`MapCreationError`] of a map that the kernel would not create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    /// The steps being done, innermost first.
    context: Vec<String>,
    cause: Cause,
    class: Option<LoadClass>,
    place: Option<SourcePlace>,
}

/// What an error says: words of its own, or those of its source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Cause {
    #[error("{0}")]
    Text(String),
    #[error("{0}")]
    Btf(#[from] skep_btf::Error),
    #[error("{0}")]
    Elf(#[from] object::read::Error),
    #[error("{0}")]
    Insns(#[from] skep_insn::Error),
    #[error("{0}")]
    Map(#[from] MapCreationError),
}

impl From<String> for Cause {
    fn from(text: String) -> Cause {
        Cause::Text(text)
    }
}

impl From<&str> for Cause {
    fn from(text: &str) -> Cause {
        Cause::Text(text.to_owned())
    }
}

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error with no context yet.
    pub(crate) fn new(cause: impl Into<Cause>) -> Error {
        let (context, cause) = (Vec::new(), cause.into());
        Error(Box::new(Inner { context, cause, class: None, place: None }))
    }

    /// A load error, as opposed to a malformed file.
    pub(crate) fn load(class: LoadClass, cause: impl Into<Cause>) -> Error {
        Error::new(cause).of_class(class)
    }

    /// The same error as a load error; an existing class is kept.
    #[must_use]
    pub(crate) fn of_class(mut self, class: LoadClass) -> Error {
        self.0.class.get_or_insert(class);
        self
    }

    /// The loading step that rejects the object or program; `None` if the file is malformed, or too
    /// little is known about the kernel.
    pub fn class(&self) -> Option<LoadClass> {
        self.0.class
    }

    /// The source line of the rejected item, if known.
    pub fn place(&self) -> Option<&SourcePlace> {
        self.0.place.as_ref()
    }

    /// The same error at a source location; an existing one is kept.
    #[must_use]
    pub(crate) fn placed(mut self, place: Option<SourcePlace>) -> Error {
        self.0.place = self.0.place.or(place);
        self
    }

    /// An error at a byte of a section.
    pub(crate) fn at(section: &str, offset: u64, cause: impl Into<Cause>) -> Error {
        Error::new(cause).context(format!("section {section}, offset {offset:#x}"))
    }

    /// The same error with the step during which it occurred; the last one added is printed first.
    #[must_use]
    pub(crate) fn context(mut self, step: impl Into<String>) -> Error {
        self.0.context.push(step.into());
        self
    }
}

/// Adds a step to the error of a result.
pub(crate) trait Context<T> {
    /// As [`Error::context`].
    fn context(self, step: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for Result<T, E> {
    fn context(self, step: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| error.into().context(step()))
    }
}

impl From<skep_btf::Error> for Error {
    fn from(error: skep_btf::Error) -> Error {
        Error::new(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in self.0.context.iter().rev() {
            write!(f, "{step}: ")?;
        }
        self.0.cause.fmt(f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.cause.source()
    }
}
