//! Packs answers as they came into the tables that are committed: names of objects and programs,
//! verdict, counts, last message, a hash of the log. No text of a program.

use super::agree::{self, END};
use crate::answers;
use crate::outcome::Ended;
use std::fs;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder of answers.
    #[arg(long)]
    out: PathBuf,
    /// Only this kernel.
    #[arg(long, value_name = "RELEASE")]
    kernel: Vec<String>,
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    fs::create_dir_all(agree::folder())?;
    let mut releases: Vec<String> = fs::read_dir(&args.out)?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| args.out.join(name).join("answers.csv").exists())
        .filter(|name| args.kernel.is_empty() || args.kernel.contains(name))
        .collect();
    releases.sort();
    for release in releases {
        let folder = args.out.join(&release);
        let table = answers::read(&folder.join("answers.csv"))?;
        let version = fs::read_to_string(folder.join("facts/version")).unwrap_or_default();
        let head = format!(
            "Linux {release} ({}); written by `cargo xtask kernels ask` and `table`",
            version.trim()
        );
        let rows: Vec<_> = table.into_values().collect();
        let path = agree::folder().join(format!("{release}{END}"));
        answers::write(&path, &head, &rows)?;
        println!("{release}: {} programs", rows.len());
    }
    Ok(Ended::Passed)
}
