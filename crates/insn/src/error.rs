//! The error type of this crate: bytes that are not insns, or text that is not a program.

use std::fmt;

/// Input that cannot be read as insns.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Truncated { byte_off: usize, len: usize },
    Text { line: u32, column: u32, message: String },
}

impl Error {
    pub(crate) fn truncated(byte_off: usize, len: usize) -> Error {
        Error(Kind::Truncated { byte_off, len })
    }

    pub(crate) fn text(line: u32, column: u32, message: impl Into<String>) -> Error {
        Error(Kind::Text { line, column, message: message.into() })
    }

    /// Offset in the bytes given to `decode_all`.
    pub fn byte_off(&self) -> Option<usize> {
        match self.0 {
            Kind::Truncated { byte_off, .. } => Some(byte_off),
            Kind::Text { .. } => None,
        }
    }

    /// Line and column (both from 1, columns in characters) in the text given to `assemble`.
    pub fn line_column(&self) -> Option<(u32, u32)> {
        match self.0 {
            Kind::Truncated { .. } => None,
            Kind::Text { line, column, .. } => Some((line, column)),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Truncated { byte_off, len } => {
                write!(f, "insn at byte offset {byte_off:#x} is cut short: {len} of 8 bytes")
            }
            Kind::Text { line, column, message } => write!(f, "line {line}:{column}: {message}"),
        }
    }
}
