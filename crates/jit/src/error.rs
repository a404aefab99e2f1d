//! Errors of a compilation.

use thiserror::Error as ThisError;

/// Why a program was not compiled.
#[derive(Debug, ThisError)]
#[error(transparent)]
pub struct Error(#[from] Kind);

#[derive(Debug, ThisError)]
pub(crate) enum Kind {
    #[error("while compiling insn {insn}: {what}")]
    Insn { insn: usize, what: &'static str },
    #[error("while compiling insn {insn}: not supported yet: {what}")]
    Unsupported { insn: usize, what: String },
    #[error("while compiling insn {insn}: helper {helper} is not linked")]
    NoHelper { insn: usize, helper: i32 },
    #[error("while compiling insn {insn}: map {map} is not linked")]
    NoMap { insn: usize, map: u32 },
    #[error("internal error: while compiling insn {insn}: {what}")]
    Bug { insn: usize, what: &'static str },
}

impl Error {
    /// Whether a feature is missing in skep, as opposed to bad input.
    pub fn is_unsupported(&self) -> bool {
        matches!(self.0, Kind::Unsupported { .. })
    }

    /// Whether this is a bug: a pass produced an op without machine code.
    pub fn is_bug(&self) -> bool {
        matches!(self.0, Kind::Bug { .. })
    }

    pub(crate) fn bug(insn: usize, what: &'static str) -> Error {
        Error(Kind::Bug { insn, what })
    }

    pub(crate) fn insn(insn: usize, what: &'static str) -> Error {
        Error(Kind::Insn { insn, what })
    }

    pub(crate) fn no_map(insn: usize, map: u32) -> Error {
        Error(Kind::NoMap { insn, map })
    }

    pub(crate) fn no_helper(insn: usize, helper: i32) -> Error {
        Error(Kind::NoHelper { insn, helper })
    }

    pub(crate) fn unsupported(insn: usize, what: impl Into<String>) -> Error {
        Error(Kind::Unsupported { insn, what: what.into() })
    }
}
