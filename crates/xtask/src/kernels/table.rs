//! Packs answers into the committed tables: names of objects and programs, verdict, counts, last
//! message, a hash of the log. No text of a program.

use super::agree::{self, END};
use super::folder::{ANSWERS, answered};
use crate::answers::{self, Table};
use crate::outcome::Ended;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder of answers.
    #[arg(long)]
    out: PathBuf,
    /// Only this kernel.
    #[arg(long, value_name = "RELEASE")]
    kernel: Vec<String>,
    /// Keep the tables' other rows: only replace those that were asked for again.
    #[arg(long)]
    add: bool,
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    fs::create_dir_all(agree::folder())?;
    let wanted = |name: &String| args.kernel.is_empty() || args.kernel.contains(name);
    for release in answered(&args.out)?.into_iter().filter(wanted) {
        let folder = args.out.join(&release);
        let mut table = answers::read(&folder.join(ANSWERS))?;
        reread(&folder.join("logs"), &mut table)?;
        let version = fs::read_to_string(folder.join("facts/version")).unwrap_or_default();
        let head = format!(
            "Linux {release} ({}); written by `cargo xtask kernels ask` and `table`",
            version.trim()
        );
        let path = agree::folder().join(format!("{release}{END}"));
        if args.add {
            let asked = std::mem::replace(&mut table, answers::read(&path)?);
            table.extend(asked);
        }
        let rows: Vec<_> = table.into_values().collect();
        answers::write(&path, &head, &rows)?;
        println!("{release}: {} programs", rows.len());
    }
    Ok(Ended::Passed)
}

/// Extracts the messages from the logs again, because the rule for finding the message may have
/// changed.
fn reread(logs: &Path, table: &mut Table) -> io::Result<()> {
    let mut objects: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for row in table.values_mut().filter(|row| row.verdict == "rejected") {
        if !objects.contains_key(&row.object) {
            let path = logs.join(format!("{}.gz", row.object.replace('/', "_")));
            objects.insert(row.object.clone(), messages(&path)?);
        }
        let known = objects.get(&row.object).and_then(|of| of.get(&row.program));
        if let Some(message) = known {
            row.message.clone_from(message);
        }
    }
    Ok(())
}

/// The last message of each program in a file of logs.
fn messages(path: &Path) -> io::Result<BTreeMap<String, String>> {
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(File::open(path)?).read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let mut found = BTreeMap::new();
    for part in text.split("@@ ").skip(1) {
        let (head, log) = part.split_once('\n').unwrap_or((part, ""));
        let name = head.split(' ').next().unwrap_or_default();
        found.insert(name.to_owned(), answers::message(log));
    }
    Ok(found)
}
