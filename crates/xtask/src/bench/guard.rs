//! `cargo xtask bench guard`: callgrind's instruction counts of the stress shapes against those in
//! `tests/callgrind.toml`.
//!
//! Counts are the same in every run of one binary, so this is no timed test. They depend on the
//! compiler, whose version is recorded beside them: with another one there is nothing to compare.

use serde::{Deserialize, Serialize};
use skep_bench::callgrind;
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

/// The record.
const RECORD: &str = "tests/callgrind.toml";
/// What is counted.
const SHAPES: &str = "tests/programs/stress_*.bpf.o";
/// More than this is a regression, percent.
const TOLERANCE_PERCENT: f64 = 2.0;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write the counts down as they are now.
    #[arg(long)]
    write: bool,
}

/// The committed counts.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Record {
    /// `rustc --version` without date and hash, and the machine.
    compiler: String,
    /// Instructions of one verification, by `FILE:PROG`.
    instructions: BTreeMap<String, u64>,
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    if !callgrind::available() {
        println!("bench guard: skipped: valgrind not found");
        return Ok(true);
    }
    let compiler = compiler()?;
    let path = crate::root().join(RECORD);
    let stored: Record = match fs::read_to_string(&path) {
        Ok(text) => toml::from_str(&text)?,
        Err(_) => Record::default(),
    };
    if !args.write && stored.compiler != compiler {
        println!(
            "bench guard: skipped: {RECORD} was counted with {}, this is {compiler}",
            stored.compiler
        );
        return Ok(true);
    }
    let now = Record { compiler, instructions: count()? };
    if args.write {
        fs::write(&path, toml::to_string(&now)?)?;
    }
    let worse = compare(&stored, &now);
    Ok(args.write || worse == 0)
}

/// Prints the counts and returns how many are more than is tolerated, or absent.
fn compare(stored: &Record, now: &Record) -> usize {
    let mut worse = 0;
    for (name, &count) in &now.instructions {
        let Some(&before) = stored.instructions.get(name) else {
            println!("{name}: {count} instructions, not in {RECORD}");
            worse += 1;
            continue;
        };
        let percent = (count as f64 / before.max(1) as f64 - 1.0) * 100.0;
        let note = if percent > TOLERANCE_PERCENT {
            worse += 1;
            ": WORSE"
        } else if percent < -TOLERANCE_PERCENT {
            ": better; `cargo xtask bench guard --write` records it"
        } else {
            ""
        };
        println!("{name}: {count} instructions, recorded {before}, {percent:+.2} %{note}");
    }
    for name in stored.instructions.keys().filter(|name| !now.instructions.contains_key(*name)) {
        println!("{name}: recorded, but not counted");
        worse += 1;
    }
    worse
}

/// Builds skep and lets it count itself.
fn count() -> Result<BTreeMap<String, u64>, Box<dyn std::error::Error>> {
    let mut command = Command::new(super::skep_in_release()?);
    command.current_dir(crate::root());
    command.args(["bench", "verify", "--btf=none", "--callgrind", "--json", SHAPES]);
    let output = command.stderr(std::process::Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err("skep bench verify --callgrind failed".into());
    }
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let programs = answer["programs"].as_array().cloned().unwrap_or_default();
    let count = |program: &serde_json::Value| {
        let name = program["program"].as_str()?.to_owned();
        Some((name, program["sides"][0]["instructions"].as_u64()?))
    };
    Ok(programs.iter().filter_map(count).collect())
}

/// `rustc 1.95.0 x86_64`.
fn compiler() -> Result<String, Box<dyn std::error::Error>> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").current_dir(crate::root()).output()?;
    let version = String::from_utf8(output.stdout)?;
    let words: Vec<&str> = version.split_whitespace().take(2).collect();
    Ok(format!("{} {}", words.join(" "), std::env::consts::ARCH))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(counts: &[(&str, u64)]) -> Record {
        let instructions = counts.iter().map(|&(name, count)| (name.to_owned(), count)).collect();
        Record { compiler: "c".to_owned(), instructions }
    }

    #[test]
    fn more_than_is_tolerated_new_and_absent_are_worse() {
        let stored = record(&[("a", 1000), ("b", 1000), ("c", 1000), ("gone", 1)]);
        assert_eq!(compare(&stored, &record(&[("a", 1019), ("b", 900), ("c", 1000)])), 1);
        assert_eq!(compare(&stored, &record(&[("a", 1021), ("new", 1), ("gone", 1)])), 4);
        assert_eq!(compare(&stored, &stored), 0);
    }

    #[test]
    fn the_record_is_readable() {
        let text = fs::read_to_string(crate::root().join(RECORD)).expect("the record");
        let record: Record = toml::from_str(&text).expect("TOML");
        assert!(record.instructions.len() >= 5 && record.compiler.starts_with("rustc "));
    }
}
