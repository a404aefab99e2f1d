//! The column `source` of the tables of `docs/kernels.md`.

use skep::uapi::since::Source;

/// What states a release, as a cell of a table.
pub(super) fn stated(source: Option<Source>) -> String {
    match source {
        Some(page @ Source::Page(_)) => format!("[docs.ebpf.io]({page})"),
        Some(Source::Commit(title)) => format!("\"{}\"", title.replace('|', "\\|")),
        None => "-".to_owned(),
    }
}
