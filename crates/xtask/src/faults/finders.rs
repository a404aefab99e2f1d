//! Tests that may detect a fault: programs of the copy, and how they report failures.
//!
//! # Invariants
//! 1. Only hand-written programs are loaded into the kernel. Tests that generate programs have no
//!    access to bpf(2) here: whether a generated program is safe to load is decided by the
//!    verifier, which contains the fault.

use super::table::Fault;
use super::tree::{Binary, Tree, VARIABLE};
use std::io::{Read, Seek};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A row of the table of tests.
struct Row {
    name: &'static str,
    /// The program: its package and target.
    package: &'static str,
    target: &'static str,
    args: &'static [&'static str],
    judges: Judges,
    /// Folder of the only crate whose faults it can detect; empty for all.
    only: &'static str,
    start: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Judges {
    /// By its exit status.
    Status,
    /// By an output that differs from that without a fault.
    Output,
}

const fn tests(name: &'static str, package: &'static str, target: &'static str) -> Row {
    Row { name, package, target, args: &[], judges: Judges::Status, only: "", start: LIMITED }
}

/// One module of the binary in which a package has its tests that share a process.
const fn module(name: &'static str, package: &'static str, args: &'static [&'static str]) -> Row {
    Row { args, ..tests(name, package, "it") }
}

const FINDERS: [Row; 20] = [
    Row { only: "domain", ..tests("unit tests of the domain", "skep-domain", "lib") },
    Row { only: "domain", ..module("tnum tests", "skep-domain", &["tnum::"]) },
    Row { only: "domain", ..module("vectors of the kernel", "skep-domain", &["kernel::"]) },
    Row { only: "domain", ..module("enumeration", "skep-domain", &["enumerate::"]) },
    Row { only: "btf", ..tests("unit tests of BTF", "skep-btf", "lib") },
    tests("unit tests of the loader", "skep-object", "lib"),
    module("hostile objects", "skep-object", &["hostile::"]),
    module("objects that are refused", "skep-object", &["refused::"]),
    module("objects as they are loaded", "skep-object", &["as_loaded::"]),
    Row { only: "verifier", ..tests("unit tests of the verifier", "skep-verifier", "lib") },
    Row { only: "verifier", ..tests("rewritten programs", "skep-verifier", "xlated") },
    Row { args: &["[ours"], ..tests("suites", "skep-testkit", "suites") },
    tests("programs that run", "skep-testkit", "exec"),
    module("objects that run", "skep-testkit", &["objects::"]),
    module("traced programs", "skep-testkit", &["traced::"]),
    Row { only: "verifier", ..module("holes of the kernel", "skep-testkit", &["kernel_holes::"]) },
    Row { only: "verifier", ..module("jumps out of reach", "skep-testkit", &["jump_reach::"]) },
    Row {
        args: &["kernel-diff", "--quiet", "--baseline=tests/baseline.csv", "tests/programs/kfuncs"],
        ..tests("programs in C", "xtask", "bin")
    },
    Row {
        args: &["mutate", "--ours", "--count=2000", "--generated=100"],
        judges: Judges::Output,
        start: WITHOUT_BPF,
        ..tests("mutants", "xtask", "bin")
    },
    Row {
        args: &["embed", "--count=200", "--inputs=20", "--max=1"],
        start: WITHOUT_BPF,
        ..tests("runs inside of states", "xtask", "bin")
    },
];

/// The result of a test with a fault.
pub(super) enum TestResult {
    Passes,
    /// The first failing test, and the number of failures.
    Fails {
        first: String,
        count: usize,
    },
}

/// A test and its program.
pub(super) struct Finder {
    row: &'static Row,
    binary: PathBuf,
    folder: PathBuf,
}

/// A test that passes without faults, with its run time.
pub(super) struct Sound {
    finder: Finder,
    output: String,
    seconds: f64,
}

/// The result of a run.
struct Ran {
    /// `None` if it was stopped.
    status: Option<std::process::ExitStatus>,
    output: String,
}

/// Time limit for a run without faults, s.
const CLEAN_MAX: f64 = 900.0;
/// Time limit for a run with a fault: this factor times the time without, plus some seconds.
const SLOWER: f64 = 8.0;
const SLACK: f64 = 30.0;

/// Limits memory to 12 GiB, so that a runaway walk fails before the machine does.
const LIMITED: &str = "ulimit -v 12582912; exec \"$0\" \"$@\"";
/// The same without the capabilities for bpf(2).
const WITHOUT_BPF: &str = "ulimit -v 12582912; exec setpriv \
                           --bounding-set=-sys_admin,-bpf,-perfmon \
                           --inh-caps=-sys_admin,-bpf,-perfmon \"$0\" \"$@\"";

impl Finder {
    /// All tests in the programs that were built.
    pub(super) fn all(binaries: &[Binary]) -> Result<Vec<Finder>, String> {
        let finder = |row: &'static Row| {
            let is_it = |b: &&Binary| b.package == row.package && b.target == row.target;
            let binary = binaries.iter().find(is_it);
            let binary = binary.ok_or_else(|| format!("{}: was not built", row.name))?;
            let folder = binary.folder.clone();
            Ok(Finder { row, binary: binary.path.clone(), folder })
        };
        FINDERS.iter().map(finder).collect()
    }

    fn run(&self, number: u32, tree: &Tree, seconds: f64) -> Result<Ran, String> {
        let wrong = |e: std::io::Error| format!("{}: {e}", self.row.name);
        let mut file = tempfile::tempfile().map_err(wrong)?;
        let folder = if self.row.package == "xtask" { &tree.root } else { &self.folder };
        let mut child = Command::new("sh")
            .args(["-c", self.row.start])
            .arg(&self.binary)
            .args(self.row.args)
            .env(VARIABLE, number.to_string())
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(file.try_clone().map_err(wrong)?)
            .stderr(Stdio::null())
            .spawn()
            .map_err(wrong)?;
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().map_err(wrong)? {
                break Some(status);
            }
            if start.elapsed().as_secs_f64() > seconds {
                let _ = child.kill();
                let _ = child.wait();
                break None;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let mut bytes = Vec::new();
        file.rewind().and_then(|()| file.read_to_end(&mut bytes)).map_err(wrong)?;
        Ok(Ran { status, output: String::from_utf8_lossy(&bytes).into_owned() })
    }
}

/// The tests that pass without faults, fastest first; an error if one fails.
pub(super) fn sound(finders: Vec<Finder>, tree: &Tree) -> Result<Vec<Sound>, String> {
    let mut sound = Vec::new();
    for finder in finders {
        let start = Instant::now();
        let ran = finder.run(0, tree, CLEAN_MAX)?;
        let (name, seconds) = (finder.row.name, start.elapsed().as_secs_f64());
        if !ran.status.is_some_and(|status| status.success()) {
            return Err(format!("{name}: fails without fault: {}", first_failure(&ran.output).0));
        }
        println!("{name}: {seconds:.1} s without fault");
        sound.push(Sound { finder, output: ran.output, seconds });
    }
    sound.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    Ok(sound)
}

impl Sound {
    pub(super) fn name(&self) -> &'static str {
        self.finder.row.name
    }

    /// Whether the test covers the crate of the fault.
    pub(super) fn concerns(&self, fault: &Fault) -> bool {
        self.finder.row.only.is_empty() || self.finder.row.only == fault.folder()
    }

    pub(super) fn run(&self, number: u32, tree: &Tree) -> Result<TestResult, String> {
        let ran = self.finder.run(number, tree, self.seconds * SLOWER + SLACK)?;
        let fails = |first: &str, count| Ok(TestResult::Fails { first: first.to_owned(), count });
        let Some(status) = ran.status else { return fails("does not end", 1) };
        if self.finder.row.judges == Judges::Output && status.success() {
            let (a, b) = (self.output.lines(), ran.output.lines());
            let differ: Vec<&str> = a.zip(b).filter(|(a, b)| a != b).map(|(_, b)| b).collect();
            return match differ.first() {
                Some(line) => fails(line.split(' ').next().unwrap_or_default(), differ.len()),
                None => Ok(TestResult::Passes),
            };
        }
        if status.success() {
            return Ok(TestResult::Passes);
        }
        let (first, count) = first_failure(&ran.output);
        if count > 0 {
            return fails(&first, count);
        }
        match ran.output.lines().next() {
            Some(line) => fails(&line.split(": ").take(2).collect::<Vec<_>>().join(": "), 1),
            None => fails(&format!("ends with {status}"), 1),
        }
    }
}

/// The name of the first test or program that failed, and the number of failures.
fn first_failure(output: &str) -> (String, usize) {
    let failed = output.lines().filter_map(|line| {
        if let Some(program) = line.strip_prefix("worse: ") {
            return Some(program.trim_end());
        }
        let name = line.strip_prefix("test ")?.trim_end().strip_suffix("FAILED")?;
        Some(name.trim_end().trim_end_matches("...").trim_end())
    });
    let failed: Vec<&str> = failed.collect();
    (failed.iter().min().copied().unwrap_or_default().to_owned(), failed.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_read_from_the_output_of_tests() {
        let text = "test b / c [ours] ... FAILED\ntest a ... ok\ntest a::b ... FAILED\n";
        assert_eq!(first_failure(text), ("a::b".to_owned(), 2));
        assert_eq!(first_failure("worse: a.o:b: log, now counts \n").0, "a.o:b: log, now counts");
        assert_eq!(first_failure("test a ... ok\n"), (String::new(), 0));
    }
}
