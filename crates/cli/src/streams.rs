//! The output streams of a command, passed in so that tests can read them.

use crate::exit::Exit;
use skep_report::{Style, printable};
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

/// Forwards what is written, and keeps a copy.
pub(crate) struct KeptLines<'a> {
    pub(crate) to: &'a mut dyn Write,
    pub(crate) bytes: Rc<RefCell<Vec<u8>>>,
}

impl Write for KeptLines<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.bytes.borrow_mut().extend(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// The streams of one run.
pub struct Streams<'a> {
    /// Results.
    pub out: &'a mut dyn Write,
    /// Errors, one line each, except for rejections that are explained.
    pub err: &'a mut dyn Write,
    /// Whether results are coloured.
    pub style: Style,
    /// Whether a progress bar may be drawn on the terminal.
    pub progress: bool,
}

impl Streams<'_> {
    /// Writes `error: ...` as one line, with control characters escaped.
    pub fn error(&mut self, text: impl std::fmt::Display) -> io::Result<()> {
        writeln!(self.err, "error: {}", printable(&text.to_string()))
    }

    /// Writes `note: ...`: something that the user may want to know, but need not act on.
    pub fn note(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.err, "note: {}", printable(text))
    }

    /// Writes why there is no result for a program or file, according to who is at fault.
    pub fn failure(&mut self, text: &str, exit: Exit) -> io::Result<()> {
        match exit {
            Exit::Bug => self.bug(&text.replacen("internal error: ", "", 1)),
            _ => self.error(text),
        }
    }

    /// Writes `internal error: ...`, and what to do about it.
    fn bug(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.err, "internal error: {}; please report it", printable(text))
    }
}
