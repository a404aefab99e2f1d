//! `cargo xtask bench guard`: compares callgrind's instruction counts of the stress and hostile
//! programs with those in `tests/callgrind.toml`.
//!
//! Counted is the build of the tests, for which nothing has to be compiled: its counts are 16 to 62
//! % above those of a release. Counts are the same in every run of one binary on
//! one machine, so this does not measure time.
//! They depend on the compiler, whose version is recorded; with another version the check is
//! skipped. They depend slightly on the C library, which selects its memory functions by CPU
//! features, and on valgrind, which emulates a CPU. These are recorded too, but do not excuse a
//! regression: a worse count is reported together with what has changed.

use crate::outcome::Ended;
use serde::{Deserialize, Serialize};
use skep_bench::callgrind;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The recorded counts.
const RECORD: &str = "tests/callgrind.toml";
/// The programs that are counted.
const SHAPES: [&str; 2] = ["tests/programs/stress_*.bpf.o", "tests/programs/hostile.bpf.o"];
/// A larger increase is a regression, percent.
const TOLERANCE_PERCENT: f64 = 2.0;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Record the current counts.
    #[arg(long)]
    write: bool,
}

/// The committed counts.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Record {
    /// `rustc --version` without date and hash, and the machine.
    compiler: String,
    /// Other dependencies, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    host: BTreeMap<String, String>,
    /// Instructions of one verification, by `FILE:PROG`.
    instructions: BTreeMap<String, u64>,
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    if !callgrind::available() {
        return Ok(Ended::Skipped("valgrind not found".to_owned()));
    }
    let compiler = compiler()?;
    let path = crate::root().join(RECORD);
    let stored = match args.write {
        true => read(&path).unwrap_or_default(),
        false => read(&path)?,
    };
    if !args.write && stored.compiler != compiler {
        let before = &stored.compiler;
        return Ok(Ended::Skipped(format!(
            "{RECORD} was counted with {before}, this is {compiler}"
        )));
    }
    let now = Record { compiler, host: host(), instructions: count()? };
    if args.write {
        fs::write(&path, toml::to_string(&now)?)?;
    }
    let worse = compare(&stored, &now);
    if worse > 0 {
        for (what, before, here) in moved(&stored.host, &now.host) {
            println!("{what}: {before} when it was recorded, {here} here");
        }
    }
    Ok((args.write || worse == 0).into())
}

/// The committed counts.
fn read(path: &Path) -> Result<Record, Box<dyn std::error::Error>> {
    let text = fs::read_to_string(path).map_err(|e| format!("{RECORD}: {e}"))?;
    Ok(toml::from_str(&text).map_err(|e| format!("{RECORD}: {e}"))?)
}

/// Dependencies of the counts, apart from the compiler and our code.
fn host() -> BTreeMap<String, String> {
    let asked = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let known = [
        ("libc", asked("getconf", &["GNU_LIBC_VERSION"])),
        ("valgrind", asked("valgrind", &["--version"])),
        ("cpu", Some(cpu(&cpuinfo))),
    ];
    let named = known.map(|(name, value)| (name.to_owned(), value.unwrap_or_default()));
    named.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

/// The CPU features by which the C library selects its memory functions.
fn cpu(cpuinfo: &str) -> String {
    const FEATURES: [&str; 8] = ["avx", "avx2", "avx512vl", "bmi2", "erms", "fsrm", "movbe", "rtm"];
    let flags = cpuinfo.lines().find_map(|line| line.strip_prefix("flags"));
    let has = |feature: &&str| flags.is_some_and(|f| f.split_whitespace().any(|w| w == *feature));
    FEATURES.into_iter().filter(has).collect::<Vec<_>>().join(" ")
}

/// The recorded dependencies that have changed: name, old value, new value.
fn moved<'a>(
    then: &'a BTreeMap<String, String>,
    now: &'a BTreeMap<String, String>,
) -> Vec<(&'a str, &'a str, &'a str)> {
    let pairs = then.iter().map(|(name, then)| {
        (name.as_str(), then.as_str(), now.get(name).map_or("unknown", String::as_str))
    });
    pairs.filter(|(_, then, now)| then != now).collect()
}

/// Prints the counts and returns how many exceed the tolerance or are missing.
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

/// Counts the instructions, of each shape in a process of its own.
fn count() -> Result<BTreeMap<String, u64>, Box<dyn std::error::Error>> {
    let binary = super::release::skep_bench_of_tests()?;
    let of_shape = |shape| {
        let mut command = Command::new(&binary);
        command.current_dir(crate::root());
        command.args(["verify", "--btf=none", "--callgrind", "--json", shape]);
        command.stderr(std::process::Stdio::inherit()).output()
    };
    let outputs = std::thread::scope(|scope| {
        let started = SHAPES.map(|shape| scope.spawn(move || of_shape(shape)));
        started.map(|it| it.join().unwrap_or_else(|_| Err(std::io::Error::other("it panicked"))))
    });
    let mut counts = BTreeMap::new();
    for output in outputs {
        let output = output?;
        if !output.status.success() {
            return Err("skep-bench verify --callgrind failed".into());
        }
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        let programs = answer["programs"].as_array().into_iter().flatten();
        counts.extend(programs.filter_map(|program| {
            let name = program["program"].as_str()?.to_owned();
            Some((name, program["sides"][0]["instructions"].as_u64()?))
        }));
    }
    Ok(counts)
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
        Record { compiler: "c".to_owned(), host: BTreeMap::new(), instructions }
    }

    #[test]
    fn more_than_is_tolerated_new_and_absent_are_worse() {
        let stored = record(&[("a", 1000), ("b", 1000), ("c", 1000), ("gone", 1)]);
        assert_eq!(compare(&stored, &record(&[("a", 1019), ("b", 900), ("c", 1000)])), 1);
        assert_eq!(compare(&stored, &record(&[("a", 1021), ("new", 1), ("gone", 1)])), 4);
        assert_eq!(compare(&stored, &stored), 0);
    }

    #[test]
    fn what_else_is_another_one_is_said() {
        let host = |libc: &str, cpu: &str| {
            BTreeMap::from([("libc", libc), ("cpu", cpu)].map(|(k, v)| (k.into(), v.into())))
        };
        let (then, now) = (host("glibc 2.36", "avx2"), host("glibc 2.41", "avx2"));
        assert_eq!(moved(&then, &now), [("libc", "glibc 2.36", "glibc 2.41")]);
        assert_eq!(moved(&then, &then), []);
        assert_eq!(moved(&BTreeMap::new(), &now), []);
        assert_eq!(cpu("model: x\nflags\t\t: fpu avx2 avx512vl ermsb\n"), "avx2 avx512vl");
    }

    #[test]
    fn a_record_that_is_gone_or_broken_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(read(&folder.path().join("none.toml")).is_err());
        let broken = folder.path().join("broken.toml");
        fs::write(&broken, "compiler = ").expect("written");
        assert!(read(&broken).is_err());
    }

    #[test]
    fn the_record_is_readable() {
        let record = read(&crate::root().join(RECORD)).expect("the record");
        assert!(record.instructions.len() >= 12 && record.compiler.starts_with("rustc "));
    }
}
