//! `--html FILE`: where the page goes.

use crate::flags::HtmlFlag;
use skep_report::{Page, write_html};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

/// The file, if one is wanted.
#[derive(Debug)]
pub(crate) struct HtmlFile(Option<PathBuf>);

impl HtmlFile {
    /// Before the work: a file that cannot be written is a mistake that is better known at once.
    /// What it holds stays until there is a page.
    ///
    /// # Errors
    ///
    /// One line about the file.
    pub(crate) fn new(flag: &HtmlFlag) -> Result<HtmlFile, String> {
        let file = HtmlFile(flag.html.clone());
        let can_write = |path| OpenOptions::new().create(true).append(true).open(path).map(drop);
        file.0.as_ref().map_or(Ok(()), can_write).map_err(|e| file.wrong(&e))?;
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
