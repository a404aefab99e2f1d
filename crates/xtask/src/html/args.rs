//! The flags of `html`.

use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Keep the pages, and a screenshot of each, in this folder.
    #[arg(long, value_name = "DIR")]
    pub(super) keep: Option<PathBuf>,
    /// Rewrite tests/html/pictures.txt.
    #[arg(long)]
    pub(super) bless: bool,
}
