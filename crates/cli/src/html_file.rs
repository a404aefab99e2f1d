//! `--html FILE`: where the page goes.

use skep_report::{Page, write_html};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// The file, if one is wanted.
#[derive(Debug, Default)]
pub(crate) struct HtmlFile(Option<PathBuf>);

impl HtmlFile {
    /// Before the work: a file that cannot be written is a mistake that is better known at once.
    /// What it holds stays until there is a page; what is no page stays for good, such as the
    /// object behind a `--html` without a name.
    ///
    /// # Errors
    ///
    /// One line about the file.
    pub(crate) fn new(path: &Option<PathBuf>) -> Result<HtmlFile, String> {
        let file = HtmlFile(path.clone());
        file.0.as_deref().map_or(Ok(()), check).map_err(|e| file.wrong(&e))?;
        Ok(file)
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.0.is_some()
    }

    /// Writes the page, which is made only if it is wanted.
    ///
    /// # Errors
    ///
    /// One line about the file.
    pub(crate) fn write(&self, page: impl FnOnce() -> Page) -> Result<(), String> {
        let Some(path) = &self.0 else { return Ok(()) };
        let write = || {
            let mut out = BufWriter::new(File::create(path)?);
            write_html(&mut out, &page())?;
            out.flush()
        };
        write().map_err(|e| self.wrong(&e))
    }

    fn wrong(&self, e: &io::Error) -> String {
        let path = self.0.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
        format!("--html: {path}: {e}")
    }
}

/// How each of our pages begins.
const START: &[u8] = b"<!doctype html>";

/// Whether it can be written, and holds a page, nothing, or is no file.
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
