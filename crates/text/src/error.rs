//! Why there is no machine code, or no memory for it.

use rustix::io::Errno;
use thiserror::Error as ThisError;

/// Why a program has no machine code.
#[derive(Debug, ThisError)]
#[error(transparent)]
pub struct Error(#[from] Kind);

#[derive(Debug, ThisError)]
pub(crate) enum Kind {
    #[error(transparent)]
    Compile(#[from] skep_jit::Error),
    #[error("while compiling: machine code is too long ({0} bytes)")]
    TooLong(usize),
    #[error("while allocating machine code: {0}")]
    Memory(#[source] Errno),
}

impl Error {
    /// Whether a feature is missing in skep, as opposed to bad input.
    pub fn is_unsupported(&self) -> bool {
        matches!(&self.0, Kind::Compile(error) if error.is_unsupported())
    }

    /// Whether the host is out of memory, or code fills the address range reserved for it.
    pub fn is_memory(&self) -> bool {
        matches!(self.0, Kind::Memory(_))
    }

    /// Whether this is a bug: a pass produced an op without machine code.
    pub fn is_bug(&self) -> bool {
        matches!(&self.0, Kind::Compile(error) if error.is_bug())
    }

    pub(crate) fn too_long(bytes: usize) -> Error {
        Error(Kind::TooLong(bytes))
    }
}

impl From<Errno> for Error {
    fn from(errno: Errno) -> Error {
        Error(Kind::Memory(errno))
    }
}

impl From<skep_jit::Error> for Error {
    fn from(error: skep_jit::Error) -> Error {
        Error(Kind::Compile(error))
    }
}
