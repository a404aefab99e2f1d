//! `--html FILE`: the output file.

use crate::Error;
use skep_report::{Page, write_html};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// The file, if requested.
#[derive(Clone, Debug, Default)]
pub(crate) struct HtmlFile(Option<PathBuf>);

impl HtmlFile {
    /// Opened before the work, so that a file that cannot be written is reported at once. Its
    /// contents are kept until there is a page; a file that is not a page is never overwritten,
    /// such as the object after `--html` without a file name.
    ///
    /// # Errors
    ///
    /// One line about the file.
    pub(crate) fn new(path: &Option<PathBuf>) -> Result<HtmlFile, Error> {
        if path.as_deref().is_some_and(|path| path.as_os_str() == "-") {
            return Err("--html: standard output has the other results; give a file".into());
        }
        let file = HtmlFile(path.clone());
        file.0.as_deref().map_or(Ok(()), check).map_err(|e| file.wrong(e))?;
        Ok(file)
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.0.is_some()
    }

    /// Writes the page, which is only created if requested.
    ///
    /// # Errors
    ///
    /// One line about the file.
    pub(crate) fn write(&self, page: impl FnOnce() -> Page) -> Result<(), Error> {
        let Some(path) = &self.0 else { return Ok(()) };
        let write = || {
            let mut out = BufWriter::new(File::create(path)?);
            write_html(&mut out, &page())?;
            out.flush()
        };
        write().map_err(|e| self.wrong(e))
    }

    fn wrong(&self, e: io::Error) -> Error {
        let path = self.0.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
        Error::at(format_args!("--html: {path}"), e)
    }
}

/// The start of each of our pages.
const START: &[u8] = b"<!doctype html>";

/// Whether it can be written: it contains a page, is empty, or does not exist.
fn check(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    if !file.metadata()?.is_file() {
        return Ok(());
    }
    let mut start = Vec::new();
    File::open(path)?.take(START.len() as u64).read_to_end(&mut start)?;
    match start.is_empty() || start == START {
        true => Ok(()),
        false => Err(io::Error::other("exists and is not a page written by skep")),
    }
}
