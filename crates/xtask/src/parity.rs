//! `cargo xtask parity`: writes `docs/parity.md`, what is known to differ from the kernel, from the
//! suites' `known_gap` options and the committed baseline. Nobody edits that file.

use crate::kernel_diff::{Class, Entry, read_baseline};
use skep_testkit::suite;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Change nothing; fail if the file is not up to date.
    #[arg(long)]
    check: bool,
}

const HEAD: &str = "\
# Parity with the kernel

Written by `cargo xtask parity` from the suites (`known_gap`) and from `tests/baseline.csv`, which
`cargo xtask kernel-diff --write-baseline` records. The kernel is Linux 6.18.

";

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let root = crate::root();
    let mut text = HEAD.to_owned();
    let entries = read_baseline(&root.join("tests/baseline.csv")).unwrap_or_default();
    agreement(&entries, &mut text);
    for (class, title) in SECTIONS {
        reasons(&entries, (class, title), &mut text);
    }
    gaps(&root, &mut text)?;
    let path = root.join("docs/parity.md");
    let same = fs::read_to_string(&path).is_ok_and(|old| old == text);
    if !same && args.check {
        println!("docs/parity.md: out of date; run `cargo xtask parity`");
    } else if !same {
        fs::write(&path, text)?;
    }
    Ok(same || !args.check)
}

/// Classes that are told by reason.
const SECTIONS: [(Class, &str); 5] = [
    (Class::Unsupported, "Not supported yet"),
    (Class::FalseReject, "Refused, though the kernel accepts"),
    (Class::FalseAccept, "Accepted, though the kernel refuses"),
    (Class::NotLoaded, "Not loaded"),
    (Class::NotJudged, "Not judged by this kernel"),
];

/// A line for each folder of objects, a column for each class.
fn agreement(entries: &[Entry], text: &mut String) {
    let mut folders: BTreeMap<&str, BTreeMap<Class, usize>> = BTreeMap::new();
    for entry in entries {
        let folder = entry.object.split('/').next().unwrap_or_default();
        *folders.entry(folder).or_default().entry(entry.class).or_default() += 1;
    }
    let _ = writeln!(text, "## Agreement\n\nPrograms by the most on which both agree.\n");
    let _ = writeln!(text, "| objects | {} |", Class::ALL.map(Class::name).join(" | "));
    let _ = writeln!(text, "|---|{}", "--:|".repeat(Class::ALL.len()));
    for (folder, counts) in folders {
        let count = |class: Class| counts.get(&class).copied().unwrap_or(0).to_string();
        let _ = writeln!(text, "| {folder} | {} |", Class::ALL.map(count).join(" | "));
    }
}

fn reasons(entries: &[Entry], (class, title): (Class, &str), text: &mut String) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.class == class) {
        *counts.entry(entry.reason.as_str()).or_default() += 1;
    }
    if counts.is_empty() {
        return;
    }
    let mut sorted: Vec<_> = counts.into_iter().collect();
    sorted.sort_by_key(|&(reason, count)| (std::cmp::Reverse(count), reason));
    let _ = writeln!(text, "\n## {title}\n\n| programs | reason |\n|--:|---|");
    for (reason, count) in sorted {
        let _ = writeln!(text, "| {count} | {} |", reason.replace('|', "\\|"));
    }
}

fn gaps(root: &Path, text: &mut String) -> Result<(), Box<dyn std::error::Error>> {
    let _ = writeln!(text, "\n## Cases with a known gap\n");
    let mut any = false;
    for path in crate::bless::suites(root)? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for case in suite::read(&fs::read_to_string(&path)?)? {
            if let Some(gap) = &case.options.known_gap {
                any = true;
                let _ = writeln!(text, "- {name} / {}: {gap}", case.name);
            }
        }
    }
    if !any {
        let _ = writeln!(text, "None.");
    }
    Ok(())
}
